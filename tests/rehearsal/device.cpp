// A CUDA device made of host memory, for a torch that was built without CUDA.
//
// Tensors on it live in memory of the host that an allocator hands out and counts. What is asked of
// them runs torch's kernel for the CPU on the same bytes. So the rules of devices hold (what may
// meet what, where a result lives, which generator draws, what is counted as memory), while numbers,
// times and the text of CUDA's own errors are the CPU's.

#include <pthread.h>

#include <chrono>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/native/SparseTensorUtils.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/extension.h>

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::IValue;

const c10::Device DEVICE(c10::DeviceType::CUDA, 0);
constexpr size_t CAPACITY = size_t(8) << 30;  // bytes of the device
int sync_mode = 0;  // 1: warn of what waits for the device, 2: raise
bool forked = false;  // since the device was first used: then CUDA refuses to work

void require_device() {
  TORCH_CHECK(!forked, "CUDA error: initialization error");
}

// ---------------------------------------------------------------------------------------- memory

struct Memory final : c10::Allocator {
  static constexpr size_t BLOCK = 512, SMALL = size_t(2) << 20, LARGE = size_t(20) << 20;
  size_t used = 0, peak = 0, requested = 0, peak_requested = 0, reserved = 0, peak_reserved = 0, total = 0;
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
    TORCH_CHECK_WITH(
        OutOfMemoryError, used + size <= CAPACITY, "CUDA out of memory. Tried to allocate ",
        format(size), ". GPU 0 has a total capacity of ", format(CAPACITY), " of which ",
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

  static std::string format(size_t bytes) {
    return c10::str(bytes / double(1 << 20), " MiB");
  }

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

  c10::DeleterFnPtr raw_deleter() const override {
    return &free;
  }

  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }

  static PinnedMemory& instance() {
    static auto* memory = new PinnedMemory;
    return *memory;
  }
};

// ------------------------------------------------------------------------------------- generator

// As on CUDA, its state is a seed and an offset, and each use moves the offset on.
struct Random final : c10::GeneratorImpl {
  uint64_t start = c10::default_rng_seed_val, offset = 0;

  Random() : GeneratorImpl(DEVICE, c10::DispatchKeySet(DispatchKey::CUDA)) {}

  at::Generator draw() {
    auto generator = at::detail::createCPUGenerator(start * 1000003 + offset + 1);
    offset += 4;
    return generator;
  }
  void set_current_seed(uint64_t seed) override {
    start = seed;
    offset = 0;
  }
  uint64_t current_seed() const override {
    return start;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return start;
  }
  void set_offset(uint64_t to) override {
    offset = to;
  }
  uint64_t get_offset() const override {
    return offset;
  }
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
  static c10::DeviceType device_type() {
    return c10::DeviceType::CUDA;
  }
  static const at::Generator& common() {
    static auto* generator = new at::Generator(at::make_generator<Random>());
    return *generator;
  }
};

// ------------------------------------------------------------------------------ device and hooks

struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Clock = std::chrono::steady_clock;
  static c10::StreamId& current() {
    static thread_local c10::StreamId stream = 0;
    return stream;
  }
  static c10::Stream stream(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, DEVICE, id);
  }
  c10::DeviceType type() const override {
    return c10::DeviceType::CUDA;
  }
  c10::Device exchangeDevice(c10::Device) const override {
    return DEVICE;
  }
  c10::Device getDevice() const override {
    return DEVICE;
  }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override {
    return stream(current());
  }
  c10::Stream getDefaultStream(c10::Device) const override {
    return stream(0);
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    static std::atomic<c10::StreamId> last{0};
    return stream(++last);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    auto before = stream(current());
    current() = to.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return 1;
  }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag)
      const override {
    if (!*event) *event = new Clock::time_point;
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
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
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasCUDA() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return 1;
  }
  int getNumGPUs() const override {
    return 1;
  }
  c10::DeviceIndex current_device() const override {
    return 0;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return 0;
  }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }
  c10::Device getDeviceFromPtr(void*) const override {
    return DEVICE;
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return Random::common();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::make_generator<Random>();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return &PinnedMemory::instance();
  }
  c10::Allocator* getCUDADeviceAllocator() const override {
    return &Memory::instance();
  }
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

namespace {

// --------------------------------------------------------------------------------------- kernels

// One call of an operator: its tensors as the CPU sees them, and the way back.
class Call {
 public:
  Call(const c10::OperatorHandle& op, DispatchKey key) : op_(op), key_(key) {}

  void run(torch::jit::Stack* stack) {
    require_device();
    const auto& arguments = op_.schema().arguments();
    const auto first = stack->size() - arguments.size();
    if (sync_mode && waits(stack, first)) {
      TORCH_CHECK(sync_mode < 2, "called a synchronizing CUDA operation");
      TORCH_WARN("called a synchronizing CUDA operation");
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto& value = (*stack)[first + i];
      value = to_cpu(value, arguments[i]);
    }
    {
      at::AutoDispatchBelowAutograd below;
      op_.redispatchBoxed(c10::DispatchKeySet(key_), stack);
    }
    for (const auto& [original, alias] : pairs_) carry_over(original, alias);
    const auto results = op_.schema().returns().size();
    for (auto i = stack->size() - results; i < stack->size(); ++i) (*stack)[i] = to_device((*stack)[i]);
  }

 private:
  bool waits(torch::jit::Stack* stack, size_t first) const {
    static const std::unordered_set<std::string> names = {
        "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2"};
    if (op_.schema().name() != "aten::copy_") return names.count(op_.schema().name()) > 0;
    const auto& to = (*stack)[first].toTensor();
    const auto& from = (*stack)[first + 1].toTensor();
    return to.device() != from.device() && !(to.is_cpu() ? to : from).is_pinned();
  }

  bool crosses() const {
    static const std::unordered_set<std::string> names = {
        "aten::copy_", "aten::index", "aten::index_put_", "aten::_index_put_impl_",
        "aten::_unsafe_index", "aten::_copy_from", "aten::_copy_from_and_resize",
        "aten::copy_sparse_to_sparse_"};
    return names.count(op_.schema().name()) > 0;
  }

  std::string method() const {
    auto name = op_.schema().name().substr(6);
    auto overload = op_.schema().overload_name();
    if (overload == "out" || overload.empty()) overload = "";
    bool structured = op_.schema().overload_name().find("out") != std::string::npos;
    if (structured) return "wrapper_CUDA_" + name;
    return "wrapper_CUDA_" + overload + "_" + name;
  }

  IValue to_cpu(const IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) return alias(value.toTensor(), argument.name());
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorList()) list.push_back(alias(tensor, argument.name()));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const std::optional<Tensor>& tensor : value.toOptionalTensorList()) {
        list.push_back(tensor ? std::optional<Tensor>(alias(*tensor, argument.name())) : std::nullopt);
      }
      return list;
    }
    if (value.isDevice()) {
      makes_ = value.toDevice().is_cuda();
      return c10::Device(c10::DeviceType::CPU);
    }
    if (value.isGenerator()) return draw(value.toGenerator());
    if (value.isNone() && is_generator(argument.type())) return draw(Random::common());
    return value;
  }

  static bool is_generator(const c10::TypePtr& type) {
    const auto* optional = type->castRaw<c10::OptionalType>();
    return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
  }

  at::Generator draw(at::Generator generator) const {
    TORCH_CHECK(
        generator.device().is_cuda(), "Expected a 'cuda' device type for generator but found '",
        generator.device().type(), "'");
    // Where nothing is drawn, the offset stays.
    if (pairs_.size() && pairs_[0].first.numel() == 0) return at::detail::createCPUGenerator(0);
    std::lock_guard<std::mutex> guard(generator.mutex());
    return static_cast<Random*>(generator.unsafeGetGeneratorImpl())->draw();
  }

  Tensor alias(const Tensor& tensor, const std::string& name) {
    if (!tensor.defined()) return tensor;
    if (!tensor.is_cuda()) {
      bool meets = tensor.dim() == 0 || crosses() || !tensor.device().is_cpu();
      TORCH_CHECK(
          meets || op_.schema().name() != "aten::mse_loss",
          "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
          "and cpu!");
      TORCH_CHECK(
          meets, "Expected all tensors to be on the same device, but got ", name,
          " is on cpu, different from other tensors on cuda:0 (when checking argument in method ",
          method(), ")");
      return tensor;
    }
    for (const auto& [original, known] : pairs_) {
      if (original.is_same(tensor)) return known;
    }
    auto seen = tensor.layout() == at::kStrided ? dense(tensor) : sparse(tensor);
    pairs_.emplace_back(tensor, seen);
    return seen;
  }

  Tensor sparse(const Tensor& tensor) {
    return made(tensor, DispatchKey::SparseCPU, DispatchKey::SparseCsrCPU, [&](const Tensor& part) {
      return alias(part, "parts");
    });
  }

  // A sparse tensor like another, of other parts.
  template <typename Convert>
  static Tensor made(const Tensor& like, DispatchKey coo, DispatchKey csr, Convert convert) {
    if (like.layout() == at::kSparse) {
      auto* from = at::sparse::get_sparse_impl(like);
      auto indices = convert(from->indices()), values = convert(from->values());
      auto tensor = at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(coo), like.dtype());
      auto* impl = at::sparse::get_sparse_impl(tensor);
      impl->resize_(from->sparse_dim(), from->dense_dim(), like.sizes());
      impl->set_indices_and_values_unsafe(indices, values);
      impl->set_coalesced(from->coalesced());
      return tensor;
    }
    auto* from = at::sparse_csr::get_sparse_csr_impl(like);
    auto rows = convert(from->compressed_indices()), columns = convert(from->plain_indices());
    auto values = convert(from->values());
    auto tensor = at::detail::make_tensor<at::SparseCsrTensorImpl>(
        c10::DispatchKeySet(csr), values.device(), like.layout(), like.dtype());
    at::sparse_csr::get_sparse_csr_impl(tensor)->set_member_tensors(rows, columns, values, like.sizes());
    return tensor;
  }

  Tensor dense(const Tensor& tensor) {
    auto* impl = tensor.storage().unsafeGetStorageImpl();
    auto found = storages_.find(impl);
    if (found == storages_.end()) {
      c10::DataPtr data(
          impl->mutable_data(), nullptr, &Memory::free_nothing, c10::Device(c10::DeviceType::CPU));
      auto storage = c10::Storage(
          c10::Storage::use_byte_size_t(), impl->nbytes(), std::move(data), c10::GetCPUAllocator(), true);
      found = storages_.emplace(impl, storage).first;
      owners_.emplace(storage.unsafeGetStorageImpl(), tensor.storage());
    }
    auto keys = tensor.key_set().remove_backend(c10::BackendComponent::CUDABit) |
        c10::DispatchKeySet(c10::BackendComponent::CPUBit);
    return view(found->second, keys, tensor);
  }

  // As views are made: what is no inference tensor stays so, and conjugates stay conjugates.
  static Tensor view(const c10::Storage& storage, c10::DispatchKeySet keys, const Tensor& like) {
    auto tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(storage), keys, like.dtype());
    auto* impl = tensor.unsafeGetTensorImpl();
    impl->set_storage_offset(like.storage_offset());
    impl->set_sizes_and_strides(like.sizes(), like.strides());
    if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    return tensor;
  }

  // What an operator did to the shape or the storage of a tensor that it was given to write to.
  void carry_over(const Tensor& original, const Tensor& seen) {
    if (original.layout() != at::kStrided) return;
    auto* to = original.storage().unsafeGetStorageImpl();
    auto owner = owners_.find(seen.storage().unsafeGetStorageImpl());
    if (owner != owners_.end() && owner->second.unsafeGetStorageImpl() != to) {
      original.unsafeGetTensorImpl()->set_storage_keep_dtype(owner->second);
      to = owner->second.unsafeGetStorageImpl();
    }
    const auto* from = seen.storage().unsafeGetStorageImpl();
    if (from->data() != to->data() || from->nbytes() != to->nbytes()) {
      auto data = Memory::instance().allocate(from->nbytes());
      if (from->nbytes()) std::memcpy(data.get(), from->data(), from->nbytes());
      to->set_data_ptr(std::move(data));
      to->set_nbytes(from->nbytes());
    }
    auto* impl = original.unsafeGetTensorImpl();
    if (seen.sizes() != original.sizes() || seen.strides() != original.strides()) {
      impl->set_sizes_and_strides(seen.sizes(), seen.strides());
    }
    if (seen.storage_offset() != original.storage_offset()) {
      impl->set_storage_offset(seen.storage_offset());
    }
  }

  IValue to_device(const IValue& value) {
    if (value.isTensor()) return back(value.toTensor());
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorList()) list.push_back(back(tensor));
      return list;
    }
    return value;
  }

  Tensor back(const Tensor& tensor) {
    if (!tensor.defined() || !tensor.device().is_cpu() || (pairs_.empty() && !makes_)) return tensor;
    for (const auto& [original, known] : pairs_) {
      if (known.is_same(tensor)) return original;
    }
    if (tensor.layout() != at::kStrided) {
      return made(tensor, DispatchKey::SparseCUDA, DispatchKey::SparseCsrCUDA, [&](const Tensor& part) {
        return back(part);
      });
    }
    auto* impl = tensor.storage().unsafeGetStorageImpl();
    auto owner = owners_.find(impl);
    if (owner == owners_.end()) {
      auto data = Memory::instance().allocate(impl->nbytes());
      if (impl->nbytes()) std::memcpy(data.get(), impl->data(), impl->nbytes());
      auto storage = c10::Storage(
          c10::Storage::use_byte_size_t(), impl->nbytes(), std::move(data), &Memory::instance(), true);
      owner = owners_.emplace(impl, storage).first;
      kept_.push_back(tensor);
    }
    return view(owner->second, keys_of(owner->second, tensor), tensor);
  }

  // The keys of a tensor on the device that shares a storage, or of a new one.
  c10::DispatchKeySet keys_of(const c10::Storage& storage, const Tensor& seen) const {
    c10::DispatchKeySet bits({DispatchKey::Conjugate, DispatchKey::Negative});
    for (const auto& [original, known] : pairs_) {
      if (original.layout() == at::kStrided && original.storage().is_alias_of(storage)) {
        return (original.key_set() - bits) | (seen.key_set() & bits);
      }
    }
    auto fresh = at::detail::empty_generic(
        {0}, &Memory::instance(), c10::DispatchKeySet(DispatchKey::CUDA), at::kByte, std::nullopt);
    return fresh.key_set() | (seen.key_set() & bits);
  }

  const c10::OperatorHandle& op_;
  const DispatchKey key_;  // of the CPU
  bool makes_ = false;
  std::vector<std::pair<Tensor, Tensor>> pairs_;  // on the device, and as the CPU sees it
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;  // device's -> the CPU's
  std::unordered_map<c10::StorageImpl*, c10::Storage> owners_;  // the CPU's -> device's
  std::vector<Tensor> kept_;  // so that no address is used twice
};

template <DispatchKey key>
void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  Call(op, key).run(stack);
}

Tensor filled(Tensor tensor) {
  const auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

Tensor empty(
    c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return filled(at::detail::empty_generic(
      C10_AS_INTARRAYREF_SLOW(size), &Memory::instance(), c10::DispatchKeySet(DispatchKey::CUDA),
      c10::dtype_or_default(dtype), format));
}

Tensor empty_strided(
    c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
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

Tensor zeros_without_memory(
    c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<at::Device>, std::optional<bool>) {
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

Tensor& set_storage(
    Tensor& self, c10::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
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

int64_t choose_attention(
    const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&, double, bool,
    std::optional<double>, bool) {
  return 0;  // the one that is written with other operators
}

// The cells that CUDA has of its own; layers use them where there is no cuDNN.

std::tuple<Tensor, Tensor, Tensor> lstm_cell(
    const Tensor& input, const Tensor& hidden, const Tensor& cell,
    const std::optional<Tensor>& input_bias, const std::optional<Tensor>& hidden_bias) {
  auto gates = input + hidden;
  if (input_bias && input_bias->defined()) gates = gates + *input_bias + *hidden_bias;
  auto parts = gates.chunk(4, 1);
  auto i = parts[0].sigmoid(), f = parts[1].sigmoid(), g = parts[2].tanh(), o = parts[3].sigmoid();
  auto next = f * cell + i * g;
  return {o * next.tanh(), next, at::cat({i, f, g, o}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(
    const std::optional<Tensor>& grad_hidden, const std::optional<Tensor>& grad_next,
    const Tensor& cell, const Tensor& next, const Tensor& workspace, bool has_bias) {
  auto parts = workspace.chunk(4, 1);
  auto i = parts[0], f = parts[1], g = parts[2], o = parts[3], squashed = next.tanh();
  auto from_hidden = grad_hidden && grad_hidden->defined() ? *grad_hidden : at::zeros_like(next);
  auto grad = from_hidden * o * (1 - squashed * squashed);
  if (grad_next && grad_next->defined()) grad = grad + *grad_next;
  auto gates = at::cat(
      {grad * g * i * (1 - i), grad * cell * f * (1 - f), grad * i * (1 - g * g),
       from_hidden * squashed * o * (1 - o)}, 1);
  return {gates, grad * f, has_bias ? gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(
    const Tensor& input, const Tensor& hidden, const Tensor& state,
    const std::optional<Tensor>& input_bias, const std::optional<Tensor>& hidden_bias) {
  bool has_bias = input_bias && input_bias->defined();
  auto from_input = (has_bias ? input + *input_bias : input).chunk(3, 1);
  auto from_hidden = (has_bias ? hidden + *hidden_bias : hidden).chunk(3, 1);
  auto r = (from_input[0] + from_hidden[0]).sigmoid(), z = (from_input[1] + from_hidden[1]).sigmoid();
  auto n = (from_input[2] + r * from_hidden[2]).tanh();
  return {n + z * (state - n), at::cat({r, z, n, state, from_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(
    const Tensor& grad, const Tensor& workspace, bool has_bias) {
  auto parts = workspace.chunk(5, 1);
  auto r = parts[0], z = parts[1], n = parts[2], state = parts[3], h = parts[4];
  auto grad_n = grad * (1 - z) * (1 - n * n);
  auto grad_z = grad * (state - n) * z * (1 - z), grad_r = grad_n * h * r * (1 - r);
  auto input = at::cat({grad_r, grad_z, grad_n}, 1), hidden = at::cat({grad_r, grad_z, grad_n * r}, 1);
  auto bias = [&](const Tensor& gates) { return has_bias ? gates.sum(0) : Tensor(); };
  return {input, hidden, grad * z, bias(input), bias(hidden)};
}

void record_stream(Tensor&, c10::Stream) {}

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
        !op->hasKernelForDispatchKey(composite)) continue;
    auto full = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
    library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback<cpu>>());
  }
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::CPU>>());
}

TORCH_LIBRARY_IMPL(_, SparseCUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::SparseCPU>>());
}

TORCH_LIBRARY_IMPL(_, SparseCsrCUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::SparseCsrCPU>>());
}

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
  // The CPU's kernel warns where it is given the output of the mean.
  // It chooses what computes it by the device.
  m.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::CPU>>());
  m.impl("mse_loss", torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::CPU>>());
  m.impl("smooth_l1_loss", torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::CPU>>());
  m.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&fallback<DispatchKey::CPU>>());
  add_kernels<DispatchKey::CPU>(m, DispatchKey::CUDA, DispatchKey::CompositeExplicitAutograd);
}

TORCH_LIBRARY_IMPL(aten, SparseCUDA, m) {
  add_kernels<DispatchKey::SparseCPU>(
      m, DispatchKey::SparseCUDA, DispatchKey::CompositeExplicitAutogradNonFunctional);
}

TORCH_LIBRARY_IMPL(aten, SparseCsrCUDA, m) {
  add_kernels<DispatchKey::SparseCsrCPU>(
      m, DispatchKey::SparseCsrCUDA, DispatchKey::CompositeExplicitAutogradNonFunctional);
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
