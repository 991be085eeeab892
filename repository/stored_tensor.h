// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_STORED_TENSOR_H_
#define VITRINE_REPOSITORY_STORED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "models/float_array.h"

namespace vitrine {

// What a file may hold.
enum class Dtype { kF32, kF16, kBF16, kI64, kU8 };

std::string_view NameOf(Dtype dtype);  // as files name it: "BF16"
int64_t BytesOf(Dtype dtype);          // of one element
bool IsFloating(Dtype dtype);

// A tensor as it lies in a file: elements of one type in row-major order. Copies share the bytes, which nobody changes.
struct StoredTensor {
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape = {};
  std::shared_ptr<const std::byte> data = nullptr;  // aligned for the type; null where there is no element

  int64_t elements() const;
  int64_t bytes() const { return elements() * BytesOf(dtype); }
  // Of a tensor whose type is T's: uint16_t for the two halves.
  template <typename T>
  const T* As() const {
    return reinterpret_cast<const T*>(data.get());
  }
};

// One whose bytes hold anything and are `written` before it is shared. Throws std::bad_alloc.
StoredTensor MakeStored(Dtype dtype, std::vector<int64_t> shape, std::byte*& written);
StoredTensor StoredOf(FloatArray array);
StoredTensor StoredBytes(std::string_view bytes);  // a copy, U8 [bytes]

// The same values as F32, shared where they are already. Requires a floating type. Throws std::bad_alloc.
StoredTensor Widened(const StoredTensor& tensor);
// Rounded to the nearest, ties to even. `tensor` is F32. Throws std::bad_alloc.
StoredTensor AsBFloat16(const StoredTensor& tensor);
// Copies of a floating tensor's values, widened. Throws std::bad_alloc.
FloatArray FloatsOf(const StoredTensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_STORED_TENSOR_H_
