// The memory of the device, and pinned memory: the host's, handed out and counted.
#pragma once

#include <mutex>
#include <unordered_set>

#include <c10/core/Allocator.h>

namespace {

const c10::Device DEVICE(c10::DeviceType::CUDA, 0);
constexpr size_t CAPACITY = size_t(8) << 30;  // bytes of the device
int sync_mode = 0;                            // 1: warn of what waits for the device, 2: raise
bool forked = false;  // since the device was first used: then CUDA refuses to work

void require_device() { TORCH_CHECK(!forked, "CUDA error: initialization error"); }

struct Memory final : c10::Allocator {
  static constexpr size_t BLOCK = 512, SMALL = size_t(2) << 20, LARGE = size_t(20) << 20;
  size_t used = 0, peak = 0, requested = 0, peak_requested = 0, reserved = 0, peak_reserved = 0,
         total = 0;
  std::mutex lock;

  struct Block {
    void* data;
    size_t size, requested;
  };

  static void free(void* context) {
    auto* block = static_cast<Block*>(context);
    auto& memory = instance();
    std::lock_guard<std::mutex> guard(memory.lock);
    memory.used -= block->size;
    memory.requested -= block->requested;
    std::free(block->data);
    delete block;
  }

  c10::DataPtr allocate(size_t bytes) override {
    require_device();
    if (bytes == 0) return {nullptr, nullptr, &free_nothing, DEVICE};
    size_t size = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    std::lock_guard<std::mutex> guard(lock);
    TORCH_CHECK_WITH(OutOfMemoryError, used + size <= CAPACITY,
                     "CUDA out of memory. Tried to allocate ", format(size),
                     ". GPU 0 has a total capacity of ", format(CAPACITY), " of which ",
                     format(CAPACITY - used), " is free. Of the allocated memory ", format(used),
                     " is allocated by PyTorch, and ", format(reserved - used),
                     " is reserved by PyTorch but unallocated.");
    used += size;
    total += size;
    peak = std::max(peak, used);
    requested += bytes;
    peak_requested = std::max(peak_requested, requested);
    size_t segment = size <= size_t(1) << 20 ? SMALL : LARGE;
    while (reserved < used) reserved += std::max(segment, (size + SMALL - 1) / SMALL * SMALL);
    peak_reserved = std::max(peak_reserved, reserved);
    void* data = std::aligned_alloc(BLOCK, size);
    return {data, new Block{data, size, bytes}, &free, DEVICE};
  }

  static std::string format(size_t bytes) { return c10::str(bytes / double(1 << 20), " MiB"); }

  static void free_nothing(void*) {}

  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }

  void release() {
    std::lock_guard<std::mutex> guard(lock);
    reserved = used == 0 ? 0 : std::min(reserved, (used + SMALL - 1) / SMALL * SMALL);
  }

  static Memory& instance() {
    static auto* memory = new Memory;
    return *memory;
  }
};

struct PinnedMemory final : c10::Allocator {
  std::unordered_set<const void*> pinned;
  std::mutex lock;

  static void free(void* data) {
    auto& memory = instance();
    std::lock_guard<std::mutex> guard(memory.lock);
    memory.pinned.erase(data);
    std::free(data);
  }

  c10::DataPtr allocate(size_t bytes) override {
    void* data = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    std::lock_guard<std::mutex> guard(lock);
    pinned.insert(data);
    return {data, data, &free, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free; }

  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }

  static PinnedMemory& instance() {
    static auto* memory = new PinnedMemory;
    return *memory;
  }
};

}  // namespace
