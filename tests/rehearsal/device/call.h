// Runs an operator on tensors of the device, by a kernel for the CPU.
#pragma once

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <ATen/EmptyTensor.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/library.h>

#include "generator.h"
#include "memory.h"

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::IValue;

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
    const bool inverts = divides_by_number(stack, first);
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto& value = (*stack)[first + i];
      value = to_cpu(value, arguments[i]);
    }
    if (inverts) (*stack)[first + 1] = inverse((*stack)[first + 1].toTensor(), stack->back());
    {
      at::AutoDispatchBelowAutograd below;
      (inverts ? product() : op_).redispatchBoxed(c10::DispatchKeySet(key_), stack);
    }
    for (const auto& [original, alias] : pairs_) carry_over(original, alias);
    const auto results = op_.schema().returns().size();
    for (auto i = stack->size() - results; i < stack->size(); ++i)
      (*stack)[i] = to_device((*stack)[i]);
  }

 private:
  // CUDA then multiplies by the inverse.
  bool divides_by_number(torch::jit::Stack* stack, size_t first) const {
    return op_.schema().name() == "aten::div" && op_.schema().overload_name() == "out" &&
           stack->back().toTensor().is_floating_point() && (*stack)[first].toTensor().is_cuda() &&
           (*stack)[first + 1].toTensor().is_cpu();
  }

  static Tensor inverse(const Tensor& number, const IValue& out) {
    auto n = number.item().toDouble();
    auto wide = out.toTensor().scalar_type() == at::kDouble;
    auto result = at::scalar_tensor(wide ? 1 / n : 1 / static_cast<float>(n), at::kDouble);
    result.unsafeGetTensorImpl()->set_wrapped_number(true);
    return result;
  }

  static const c10::OperatorHandle& product() {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::mul", "out");
    return op;
  }

  bool waits(torch::jit::Stack* stack, size_t first) const {
    static const std::unordered_set<std::string> names = {
        "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2"};
    if (op_.schema().name() != "aten::copy_") return names.count(op_.schema().name()) > 0;
    const auto& to = (*stack)[first].toTensor();
    const auto& from = (*stack)[first + 1].toTensor();
    return to.device() != from.device() && !(to.is_cpu() ? to : from).is_pinned();
  }

  bool crosses() const {
    static const std::unordered_set<std::string> names = {"aten::copy_",
                                                          "aten::index",
                                                          "aten::index_put_",
                                                          "aten::_index_put_impl_",
                                                          "aten::_unsafe_index",
                                                          "aten::_copy_from",
                                                          "aten::_copy_from_and_resize",
                                                          "aten::copy_sparse_to_sparse_"};
    return names.count(op_.schema().name()) > 0;
  }

  std::string method() const {
    auto name = op_.schema().name().substr(std::strlen("aten::"));
    auto overload = op_.schema().overload_name();
    bool structured = overload.find("out") != std::string::npos;
    return "wrapper_CUDA_" + (structured ? name : overload + "_" + name);
  }

  IValue to_cpu(const IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) return alias(value.toTensor(), argument.name());
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorList())
        list.push_back(alias(tensor, argument.name()));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const std::optional<Tensor>& tensor : value.toOptionalTensorList()) {
        list.push_back(tensor ? std::optional<Tensor>(alias(*tensor, argument.name()))
                              : std::nullopt);
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
    TORCH_CHECK(generator.device().is_cuda(),
                "Expected a 'cuda' device type for generator but found '",
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
    return made(tensor, DispatchKey::SparseCPU, DispatchKey::SparseCsrCPU,
                [&](const Tensor& part) { return alias(part, "parts"); });
  }

  // A sparse tensor like another, of other parts.
  template <typename Convert>
  static Tensor made(const Tensor& like, DispatchKey coo, DispatchKey csr, Convert convert) {
    if (like.layout() == at::kSparse) {
      auto* from = at::sparse::get_sparse_impl(like);
      auto indices = convert(from->indices()), values = convert(from->values());
      auto tensor =
          at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(coo), like.dtype());
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
    at::sparse_csr::get_sparse_csr_impl(tensor)->set_member_tensors(rows, columns, values,
                                                                    like.sizes());
    return tensor;
  }

  Tensor dense(const Tensor& tensor) {
    auto* impl = tensor.storage().unsafeGetStorageImpl();
    auto found = storages_.find(impl);
    if (found == storages_.end()) {
      c10::DataPtr data(impl->mutable_data(), nullptr, &Memory::free_nothing,
                        c10::Device(c10::DeviceType::CPU));
      auto storage = c10::Storage(c10::Storage::use_byte_size_t(), impl->nbytes(), std::move(data),
                                  c10::GetCPUAllocator(), true);
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
    if (!tensor.defined() || !tensor.device().is_cpu() || (pairs_.empty() && !makes_))
      return tensor;
    for (const auto& [original, known] : pairs_) {
      if (known.is_same(tensor)) return original;
    }
    if (tensor.layout() != at::kStrided) {
      return made(tensor, DispatchKey::SparseCUDA, DispatchKey::SparseCsrCUDA,
                  [&](const Tensor& part) { return back(part); });
    }
    auto* impl = tensor.storage().unsafeGetStorageImpl();
    auto owner = owners_.find(impl);
    if (owner == owners_.end()) {
      auto data = Memory::instance().allocate(impl->nbytes());
      if (impl->nbytes()) std::memcpy(data.get(), impl->data(), impl->nbytes());
      auto storage = c10::Storage(c10::Storage::use_byte_size_t(), impl->nbytes(), std::move(data),
                                  &Memory::instance(), true);
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
  const DispatchKey key_;  // of the CPU's kernel
  bool makes_ = false;
  std::vector<std::pair<Tensor, Tensor>> pairs_;  // on the device, and as the CPU sees it
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;  // device's -> the CPU's
  std::unordered_map<c10::StorageImpl*, c10::Storage> owners_;    // the CPU's -> device's
  std::vector<Tensor> kept_;  // so that no address is used twice
};

template <DispatchKey key>
void run(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  Call(op, key).run(stack);
}

// What runs an operator by the kernel that it has for a key of the CPU.
template <DispatchKey key>
torch::CppFunction by_kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&run<key>>();
}

}  // namespace
