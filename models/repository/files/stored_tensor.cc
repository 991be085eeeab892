// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/stored_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "common/simd/bf16.h"

namespace vitrine {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, for vector loads

struct Row {
  Dtype dtype;
  std::string_view name;
  int64_t bytes;
  bool floating;
};
constexpr Row kRows[] = {{Dtype::kF32, "F32", 4, true},
                         {Dtype::kF16, "F16", 2, true},
                         {Dtype::kBF16, "BF16", 2, true},
                         {Dtype::kI64, "I64", 8, false},
                         {Dtype::kU8, "U8", 1, false}};

const Row& RowOf(Dtype dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

// Converts IEEE 754 binary16. Its subnormals are multiples of 2^-24.
float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half} >> 15 << 31, exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F));
  const uint32_t widened = exponent == 0x1F ? 0xFF : exponent + 127 - 15;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

void WidenTo(const StoredTensor& tensor, float* values) {
  const int64_t count = tensor.elements();
  if (tensor.dtype == Dtype::kF32) {
    std::copy_n(tensor.As<float>(), count, values);
  } else if (tensor.dtype == Dtype::kF16) {
    std::transform(tensor.As<uint16_t>(), tensor.As<uint16_t>() + count, values, HalfToFloat);
  } else {
    std::transform(tensor.As<uint16_t>(), tensor.As<uint16_t>() + count, values,
                   [](uint16_t bits) { return cpu::ToFloat(cpu::Bf16{bits}); });
  }
}

}  // namespace

std::string_view NameOf(Dtype dtype) {
  return RowOf(dtype).name;
}

int64_t BytesOf(Dtype dtype) {
  return RowOf(dtype).bytes;
}

bool IsFloating(Dtype dtype) {
  return RowOf(dtype).floating;
}

int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

StoredTensor MakeStored(Dtype dtype, std::vector<int64_t> shape, std::byte*& written) {
  StoredTensor tensor{.dtype = dtype, .shape = std::move(shape)};
  const auto bytes = static_cast<size_t>(tensor.bytes());
  written = nullptr;
  if (bytes == 0) return tensor;
  written = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  tensor.data = std::shared_ptr<const std::byte>(written, [](std::byte* data) { ::operator delete(data, kAlignment); });
  return tensor;
}

StoredTensor StoredOf(FloatArray array) {
  const auto kept = std::make_shared<const std::vector<float>>(std::move(array.values));
  return {.dtype = Dtype::kF32,
          .shape = std::move(array.shape),
          .data = std::shared_ptr<const std::byte>(kept, reinterpret_cast<const std::byte*>(kept->data()))};
}

StoredTensor StoredBytes(std::string_view bytes) {
  std::byte* written = nullptr;
  StoredTensor tensor = MakeStored(Dtype::kU8, {static_cast<int64_t>(bytes.size())}, written);
  if (written != nullptr) std::memcpy(written, bytes.data(), bytes.size());
  return tensor;
}

StoredTensor ToF32(const StoredTensor& tensor) {
  if (tensor.dtype == Dtype::kF32) return tensor;
  std::byte* bytes = nullptr;
  StoredTensor widened = MakeStored(Dtype::kF32, tensor.shape, bytes);
  WidenTo(tensor, reinterpret_cast<float*>(bytes));
  return widened;
}

StoredTensor AsBFloat16(const StoredTensor& tensor) {
  std::byte* bytes = nullptr;
  StoredTensor rounded = MakeStored(Dtype::kBF16, tensor.shape, bytes);
  std::transform(tensor.As<float>(), tensor.As<float>() + tensor.elements(), reinterpret_cast<uint16_t*>(bytes),
                 [](float value) { return static_cast<uint16_t>(cpu::ToBf16(value)); });
  return rounded;
}

FloatArray FloatsOf(const StoredTensor& tensor) {
  FloatArray array{.shape = tensor.shape, .values = std::vector<float>(static_cast<size_t>(tensor.elements()))};
  WidenTo(tensor, array.values.data());
  return array;
}

}  // namespace vitrine
