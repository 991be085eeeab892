// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_FILES_STORED_TENSOR_H_
#define VITRINE_MODELS_REPOSITORY_FILES_STORED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "models/float_array.h"

namespace vitrine {

// Element types of files.
enum class Dtype { kF32, kF16, kBF16, kI64, kU8 };

std::string_view NameOf(Dtype dtype);  // returns the name in files: "BF16"
int64_t BytesOf(Dtype dtype);          // returns the bytes per element
bool IsFloating(Dtype dtype);

// A tensor as stored in a file: elements of one type in row-major order. Copies share the immutable bytes.
struct StoredTensor {
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape = {};
  std::shared_ptr<const std::byte> data = nullptr;  // aligned for the type; null if empty

  int64_t elements() const;
  int64_t bytes() const { return elements() * BytesOf(dtype); }
  // Returns the elements. T must match the tensor's type; it is uint16_t for F16 and BF16.
  template <typename T>
  const T* As() const {
    return reinterpret_cast<const T*>(data.get());
  }
};

// Allocates an uninitialized tensor. Write its bytes through `written` before sharing it.
StoredTensor MakeStored(Dtype dtype, std::vector<int64_t> shape, std::byte*& written);
StoredTensor StoredOf(FloatArray array);
StoredTensor StoredBytes(std::string_view bytes);  // returns a copy as U8 [bytes]

// Returns the values as F32; shares memory if they already are F32. Requires a floating type.
StoredTensor ToF32(const StoredTensor& tensor);
// Rounds an F32 tensor to BF16, to nearest, ties to even.
StoredTensor AsBFloat16(const StoredTensor& tensor);
// Returns a copy of a floating tensor's values as fp32.
FloatArray FloatsOf(const StoredTensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_FILES_STORED_TENSOR_H_
