// SPDX-License-Identifier: Apache-2.0
#include "tests/models/parity/hashed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::testing {
namespace {

using ::testing::ElementsAre;

std::vector<float> Values(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
}

// The expected values were printed by tests/oracle/hashed.py.
TEST(HashedTensor, IsWhatPythonMakes) {
  EXPECT_THAT(Values(HashedTensor("blocks.0.attn.qkv.weight", {2, 2}, 0, 0.125)),
              ElementsAre(0x1.de8818p-5F, -0x1.95e49p-6F, 0x1.4d3b6p-4F, -0x1.633f1cp-4F));
  EXPECT_THAT(Values(HashedTensor("norm.weight", {3}, 1, 0.25)),
              ElementsAre(0x1.c3508ap-1F, 0x1.86e3e4p-1F, 0x1.0906e6p+0F));
  EXPECT_THAT(Values(HashedTensor("head.bias", {1}, 0.75, 0x1p-9)), ElementsAre(0x1.7f6e34p-1F));
}

TEST(HashedImage, IsWhatPythonMakes) {
  const std::vector<float> image = Values(HashedImage("picture.0", 2, 33, 2));
  ASSERT_EQ(image.size(), 2U * 33 * 2);
  EXPECT_EQ(image[0], -0x1.568e98p-3F);                // channel 0, row 0, column 0
  EXPECT_EQ(image[32 * 2 + 1], 0x1.5452p-7F);          // channel 0, row 32, column 1
  EXPECT_EQ(image[33 * 2 + 31 * 2], -0x1.eb3334p-2F);  // channel 1, row 31, column 0
  EXPECT_EQ(image[33 * 2 + 32 * 2], 0x1.112528p-2F);   // channel 1, row 32, column 0
}

TEST(HashedTensor, DependsOnKeyAloneAndContinues) {
  EXPECT_EQ(Values(HashedTensor("a", {2, 3}, 0, 1)), Values(HashedTensor("a", {6}, 0, 1)));
  EXPECT_NE(Values(HashedTensor("a", {6}, 0, 1)), Values(HashedTensor("b", {6}, 0, 1)));
}

}  // namespace
}  // namespace vitrine::testing
