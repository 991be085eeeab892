// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/stored_tensor.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "models/reference/checkpoint/stored_tensors.h"

namespace vitrine {
namespace {

// Returns every 16-bit number.
StoredTensor EveryNumber(Dtype dtype) {
  std::byte* bytes = nullptr;
  StoredTensor tensor = MakeStored(dtype, {1 << 16}, bytes);
  for (int i = 0; i < 1 << 16; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(bytes + 2 * size_t{bits}, &bits, sizeof(bits));
  }
  return tensor;
}

// LibTorch gives the expected values.
TEST(StoredTensor, EveryNarrowNumberIsWidenedExactly) {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBF16}) {
    const StoredTensor narrow = EveryNumber(dtype), wide = ToF32(narrow);
    const at::Tensor expected = TensorOf(narrow).to(at::kFloat);
    ASSERT_EQ(wide.dtype, Dtype::kF32);
    ASSERT_EQ(wide.shape, narrow.shape);
    for (int i = 0; i < 1 << 16; ++i) {
      const float actual = wide.As<float>()[i], wanted = expected.const_data_ptr<float>()[i];
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(actual)) << i;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(wanted)) << NameOf(dtype) << " " << i;
      }
    }
    EXPECT_EQ(FloatsOf(narrow).values[0x3C00], wide.As<float>()[0x3C00]);
  }
}

TEST(StoredTensor, RoundingEqualsLibTorch) {
  const at::Tensor values = at::randn({1000}) * at::randn({1000}).exp();
  const StoredTensor rounded = AsBFloat16(StoredOf(values));
  EXPECT_EQ(rounded.dtype, Dtype::kBF16);
  EXPECT_TRUE(TensorOf(rounded).equal(values.to(at::kBFloat16)));
}

TEST(StoredTensor, WideNumbersAreSharedAndNotCopied) {
  const StoredTensor tensor = StoredOf(FloatArray{.shape = {2, 2}, .values = {1, 2, 3, 4}});
  EXPECT_EQ(ToF32(tensor).data, tensor.data);
  EXPECT_EQ(TensorOf(tensor).const_data_ptr(), static_cast<const void*>(tensor.data.get()));
  EXPECT_EQ(FloatsOf(tensor).values, (std::vector<float>{1, 2, 3, 4}));
}

TEST(StoredTensor, AScalarHasOneElementAndAnEmptyTensorNone) {
  const StoredTensor scalar = StoredOf(FloatArray{.shape = {}, .values = {7}});
  EXPECT_EQ(scalar.elements(), 1);
  EXPECT_EQ(scalar.As<float>()[0], 7);
  std::byte* bytes = nullptr;
  const StoredTensor empty = MakeStored(Dtype::kI64, {3, 0}, bytes);
  EXPECT_EQ(empty.bytes(), 0);
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(TensorOf(empty).numel(), 0);
}

TEST(StoredTensor, UnsupportedTypesAreRefused) {
  EXPECT_THROW(StoredOf(at::randn({2}).to(at::kDouble)), c10::Error);
  EXPECT_THROW(StoredOf(at::empty({2}, at::kBool)), c10::Error);
}

}  // namespace
}  // namespace vitrine
