// What torch asks of a device: its number, streams and events, and where memory comes from.
#pragma once

#include <chrono>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "generator.h"
#include "memory.h"

namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Clock = std::chrono::steady_clock;
  static c10::StreamId& current() {
    static thread_local c10::StreamId stream = 0;
    return stream;
  }
  static c10::Stream stream(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, DEVICE, id);
  }
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return DEVICE; }
  c10::Device getDevice() const override { return DEVICE; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(current()); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
  c10::Stream getNewStream(c10::Device, int) const override {
    static std::atomic<c10::StreamId> last{0};
    return stream(++last);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    auto before = stream(current());
    current() = to.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event) *event = new Clock::time_point;
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    auto passed = *static_cast<Clock::time_point*>(to) - *static_cast<Clock::time_point*>(from);
    return std::chrono::duration<double, std::milli>(passed).count();
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::Device getDeviceFromPtr(void*) const override { return DEVICE; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return Random::common();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::make_generator<Random>();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemory::instance(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return &Memory::instance(); }
  bool isPinnedPtr(const void* data) const override {
    auto& memory = PinnedMemory::instance();
    std::lock_guard<std::mutex> guard(memory.lock);
    return memory.pinned.count(data) > 0;
  }
  void deviceSynchronize(c10::DeviceIndex) const override {}
};

}  // namespace

namespace at {
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, Hooks)
}

namespace {}  // namespace
