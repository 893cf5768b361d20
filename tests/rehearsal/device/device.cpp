// A CUDA device made of host memory, for a torch that was built without CUDA.
//
// Tensors on it live in memory of the host that an allocator hands out and counts. What is asked of
// them runs torch's kernel for the CPU on the same bytes. So the rules of devices hold (what may
// meet what, where a result lives, which generator draws, what is counted as memory), while
// numbers, times and the text of CUDA's own errors are the CPU's.

#include <pthread.h>

#include <ATen/native/Resize.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/pybind.h>

#include "call.h"
#include "cells.h"
#include "runtime.h"

namespace {

Tensor filled(Tensor tensor) {
  const auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
             std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  return filled(at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &Memory::instance(),
                                          c10::DispatchKeySet(DispatchKey::CUDA),
                                          c10::dtype_or_default(dtype), format));
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<at::Device>, std::optional<bool>) {
  return filled(at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &Memory::instance(),
      c10::DispatchKeySet(DispatchKey::CUDA), c10::dtype_or_default(dtype)));
}

struct NoMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t) override {
    return {nullptr, nullptr, &Memory::free_nothing, DEVICE};
  }
  void copy_data(void*, const void*, size_t) const override {}
};

Tensor zeros_without_memory(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                            std::optional<at::Layout>, std::optional<at::Device>,
                            std::optional<bool>) {
  static auto* none = new NoMemory;
  return at::detail::empty_generic(
      C10_AS_INTARRAYREF_SLOW(size), none,
      c10::DispatchKeySet({DispatchKey::CUDA, DispatchKey::ZeroTensor}),
      c10::dtype_or_default(dtype), std::nullopt);
}

// The CPU's kernel would draw from the CPU's generator.
std::tuple<Tensor, Tensor> dropout(const Tensor& input, double p, std::optional<bool> train) {
  auto mask = at::ones_like(input, input.options().dtype(at::kBool));
  if (!train.value_or(true) || p == 0) return {input.clone(), mask};
  if (p == 1) return {at::zeros_like(input), mask.zero_()};
  mask.bernoulli_(1 - p);
  return {input * mask / (1 - p), mask};
}

Tensor& set_storage(Tensor& self, c10::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                    c10::SymIntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_storage_offset(offset.expect_int());
  auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  if (stride.empty() && !size.empty()) {
    impl->set_sizes_contiguous(sizes);
  } else {
    impl->set_sizes_and_strides(sizes, C10_AS_INTARRAYREF_SLOW(stride));
  }
  return self;
}

Tensor& set_whole_storage(Tensor& self, c10::Storage source) {
  auto size = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_storage(self, std::move(source), 0, c10::SymInt(size), {});
}

int64_t choose_attention(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&,
                         double, bool, std::optional<double>, bool) {
  return 0;  // the one that is written with other operators
}

void record_stream(Tensor&, c10::Stream) {}

// Convolutions of one channel a group; on the CPU no kernel is theirs.
Tensor depthwise(const Tensor& input, const Tensor& weight, c10::SymIntArrayRef kernel,
                 const std::optional<Tensor>& bias, c10::SymIntArrayRef stride,
                 c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation) {
  const auto groups = input.size(1);
  const auto inputs = input.chunk(groups, 1), weights = weight.chunk(groups);
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < groups; ++i)
    outputs.push_back(at::slow_conv_dilated2d_symint(inputs[i], weights[i], kernel, {}, stride,
                                                     padding, dilation));
  auto output = at::cat(outputs, 1);
  return bias && bias->defined() ? output + bias->view({-1, 1, 1}) : output;
}

bool no_library(const Tensor&, const Tensor&, at::IntArrayRef, at::IntArrayRef, int64_t) {
  return false;
}

bool no_library_for_tensors(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t) {
  return false;
}

// A fallback is asked only where no operator stands for all devices; but some have one and yet
// another for the CPU, which counts as CUDA's here.
template <DispatchKey cpu>
void add_kernels(torch::Library& library, DispatchKey cuda, DispatchKey composite) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findOp(name);
    if (name.name.rfind("aten::", 0) || op->hasKernelForDispatchKey(cuda)) continue;
    if (!op->hasKernelForDispatchKey(cpu)) continue;
    if (!op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
        !op->hasKernelForDispatchKey(composite))
      continue;
    auto full = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
    library.impl(full.c_str(), by_kernel<cpu>());
  }
}

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(by_kernel<DispatchKey::CPU>()); }

TORCH_LIBRARY_IMPL(_, SparseCUDA, m) { m.fallback(by_kernel<DispatchKey::SparseCPU>()); }

TORCH_LIBRARY_IMPL(_, SparseCsrCUDA, m) { m.fallback(by_kernel<DispatchKey::SparseCsrCPU>()); }

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_efficientzerotensor", &zeros_without_memory);
  m.impl("native_dropout", &dropout);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_whole_storage);
  m.impl("_fused_sdp_choice", &choose_attention);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
  m.impl("record_stream", &record_stream);
  m.impl("_conv_depthwise2d", &depthwise);
  for (const std::string library : {"cudnn", "miopen"}) {
    m.impl(("_use_" + library + "_ctc_loss").c_str(), &no_library);
    m.impl(("_use_" + library + "_ctc_loss.Tensor").c_str(), &no_library_for_tensors);
  }
  const char* cpus[] = {
      "copy_",
      "convolution_backward",  // chooses what computes it by the device
      "mse_loss",              // as its `out` warns of the shape of the mean
      "smooth_l1_loss",
  };
  for (const auto* name : cpus) m.impl(name, by_kernel<DispatchKey::CPU>());
  add_kernels<DispatchKey::CPU>(m, DispatchKey::CUDA, DispatchKey::CompositeExplicitAutograd);
}

TORCH_LIBRARY_IMPL(aten, SparseCUDA, m) {
  add_kernels<DispatchKey::SparseCPU>(m, DispatchKey::SparseCUDA,
                                      DispatchKey::CompositeExplicitAutogradNonFunctional);
}

TORCH_LIBRARY_IMPL(aten, SparseCsrCUDA, m) {
  add_kernels<DispatchKey::SparseCsrCPU>(m, DispatchKey::SparseCsrCUDA,
                                         DispatchKey::CompositeExplicitAutogradNonFunctional);
}

void note_fork() {
  forked = true;
  torch::utils::set_requires_device_init(c10::DeviceType::CUDA, true);
}

}  // namespace

PYBIND11_MODULE(emulated_cuda, m) {
  c10::SetAllocator(c10::DeviceType::CUDA, &Memory::instance());
  auto& memory = Memory::instance();
  m.def("allocated", [&] { return memory.used; });
  m.def("peak", [&] { return memory.peak; });
  m.def("reserved", [&] { return memory.reserved; });
  m.def("peak_reserved", [&] { return memory.peak_reserved; });
  m.def("requested", [&] { return memory.requested; });
  m.def("peak_requested", [&] { return memory.peak_requested; });
  m.def("total", [&] { return memory.total; });
  m.def("reset_peak", [&] {
    memory.peak = memory.used;
    memory.peak_requested = memory.requested;
    memory.peak_reserved = memory.reserved;
  });
  m.def("release", [&] { memory.release(); });
  m.def("capacity", [] { return CAPACITY; });
  m.def("poison_forks", [] { pthread_atfork(nullptr, nullptr, &note_fork); });
  m.def("generator", [] { return Random::common(); });
  m.def("set_sync_mode", [](int mode) { sync_mode = mode; });
  m.def("is_forked", [] { return forked; });
}
