// The cells that CUDA has of its own; recurrent layers use them where there is no cuDNN.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/slow_conv_dilated2d.h>
#include <ATen/ops/zeros_like.h>

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden,
                                             const Tensor& cell,
                                             const std::optional<Tensor>& input_bias,
                                             const std::optional<Tensor>& hidden_bias) {
  auto gates = input + hidden;
  if (input_bias && input_bias->defined()) gates = gates + *input_bias + *hidden_bias;
  auto parts = gates.chunk(4, 1);
  auto i = parts[0].sigmoid(), f = parts[1].sigmoid(), g = parts[2].tanh(), o = parts[3].sigmoid();
  auto next = f * cell + i * g;
  return {o * next.tanh(), next, at::cat({i, f, g, o}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const std::optional<Tensor>& grad_hidden,
                                                      const std::optional<Tensor>& grad_next,
                                                      const Tensor& cell, const Tensor& next,
                                                      const Tensor& workspace, bool has_bias) {
  auto parts = workspace.chunk(4, 1);
  auto i = parts[0], f = parts[1], g = parts[2], o = parts[3], squashed = next.tanh();
  auto from_hidden = grad_hidden && grad_hidden->defined() ? *grad_hidden : at::zeros_like(next);
  auto grad = from_hidden * o * (1 - squashed * squashed);
  if (grad_next && grad_next->defined()) grad = grad + *grad_next;
  auto gates = at::cat({grad * g * i * (1 - i), grad * cell * f * (1 - f), grad * i * (1 - g * g),
                        from_hidden * squashed * o * (1 - o)},
                       1);
  return {gates, grad * f, has_bias ? gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& state,
                                    const std::optional<Tensor>& input_bias,
                                    const std::optional<Tensor>& hidden_bias) {
  bool has_bias = input_bias && input_bias->defined();
  auto from_input = (has_bias ? input + *input_bias : input).chunk(3, 1);
  auto from_hidden = (has_bias ? hidden + *hidden_bias : hidden).chunk(3, 1);
  auto r = (from_input[0] + from_hidden[0]).sigmoid(),
       z = (from_input[1] + from_hidden[1]).sigmoid();
  auto n = (from_input[2] + r * from_hidden[2]).tanh();
  return {n + z * (state - n), at::cat({r, z, n, state, from_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  auto parts = workspace.chunk(5, 1);
  auto r = parts[0], z = parts[1], n = parts[2], state = parts[3], h = parts[4];
  auto grad_n = grad * (1 - z) * (1 - n * n);
  auto grad_z = grad * (state - n) * z * (1 - z), grad_r = grad_n * h * r * (1 - r);
  auto input = at::cat({grad_r, grad_z, grad_n}, 1),
       hidden = at::cat({grad_r, grad_z, grad_n * r}, 1);
  auto bias = [&](const Tensor& gates) { return has_bias ? gates.sum(0) : Tensor(); };
  return {input, hidden, grad * z, bias(input), bias(hidden)};
}

}  // namespace
