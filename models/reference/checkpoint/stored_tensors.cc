// SPDX-License-Identifier: Apache-2.0
#include "models/reference/checkpoint/stored_tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace vitrine {
namespace {

constexpr std::pair<Dtype, at::ScalarType> kTypes[] = {{Dtype::kF32, at::kFloat},
                                                       {Dtype::kF16, at::kHalf},
                                                       {Dtype::kBF16, at::kBFloat16},
                                                       {Dtype::kI64, at::kLong},
                                                       {Dtype::kU8, at::kByte}};

}  // namespace

at::Tensor TensorOf(const StoredTensor& stored) {
  const at::ScalarType type = kTypes[static_cast<size_t>(stored.dtype)].second;
  if (stored.data == nullptr) return at::empty(stored.shape, type);
  void* const data = const_cast<std::byte*>(stored.data.get());
  return at::from_blob(
      data, stored.shape, [keeps = stored.data](void*) {}, type);
}

StoredTensor StoredOf(const at::Tensor& tensor) {
  const auto kept = std::make_shared<const at::Tensor>(tensor.detach().cpu().contiguous());
  for (const auto& [dtype, type] : kTypes) {
    if (kept->scalar_type() != type) continue;
    StoredTensor stored{.dtype = dtype, .shape = kept->sizes().vec()};
    if (kept->numel() > 0) {
      stored.data = std::shared_ptr<const std::byte>(kept, static_cast<const std::byte*>(kept->const_data_ptr()));
    }
    return stored;
  }
  TORCH_CHECK(false, "a tensor of ", kept->scalar_type(), " is not stored; float, half, bfloat16, int64 and uint8 are");
}

}  // namespace vitrine
