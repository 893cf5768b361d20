// The generator of the device.
#pragma once

#include <cstdlib>

#include <ATen/CPUGeneratorImpl.h>

#include "memory.h"

namespace {

// As on CUDA, its state is a seed and an offset, and each use moves the offset on.
struct Random final : c10::GeneratorImpl {
  uint64_t start = c10::default_rng_seed_val, offset = 0;

  Random() : GeneratorImpl(DEVICE, c10::DispatchKeySet(c10::DispatchKey::CUDA)) {}

  // The numbers of another GPU's generator would be others too.
  static uint64_t series() {
    const auto* asked = std::getenv("EMULATED_SEED");
    return asked ? std::strtoull(asked, nullptr, 10) * 7919 : 0;
  }
  at::Generator draw() {
    auto seed = start * 1000003 + offset + 1 + series();
    auto generator = at::detail::createCPUGenerator(seed);
    offset += 4;
    return generator;
  }
  void set_current_seed(uint64_t seed) override {
    start = seed;
    offset = 0;
  }
  uint64_t current_seed() const override { return start; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return start;
  }
  void set_offset(uint64_t to) override { offset = to; }
  uint64_t get_offset() const override { return offset; }
  void set_state(const c10::TensorImpl& state) override {
    const auto* words = static_cast<const uint64_t*>(state.data());
    start = words[0];
    offset = words[1];
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto state = at::detail::empty_cpu({16}, at::kByte, {}, {}, {}, {});
    auto* words = static_cast<uint64_t*>(state.data_ptr());
    words[0] = start;
    words[1] = offset;
    return state.getIntrusivePtr();
  }
  Random* clone_impl() const override {
    auto* copy = new Random;
    copy->start = start;
    copy->offset = offset;
    return copy;
  }
  static c10::DeviceType device_type() { return c10::DeviceType::CUDA; }
  static const at::Generator& common() {
    static auto* generator = new at::Generator(at::make_generator<Random>());
    return *generator;
  }
};

}  // namespace
