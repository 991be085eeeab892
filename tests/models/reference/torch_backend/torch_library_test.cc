// SPDX-License-Identifier: Apache-2.0
#include "models/engine/torch_library.h"

#include <gtest/gtest.h>

#include "models/zoo.h"

namespace vitrine {
namespace {

// Loads the library with dlopen. The process already has the protobuf messages; registering them twice would abort it.
TEST(TorchLibrary, IsFoundAndDrawsWeights) {
  const absl::StatusOr<const TorchLibrary*> library = OpenTorchLibrary();
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(*OpenTorchLibrary(), *library);
  const ZooRow row = FindVariant("eit33-mini-cifar10").value();
  const absl::StatusOr<std::vector<FloatArray>> drawn = (*library)->draw(row.config, 1);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  int64_t floats = 0;
  for (const FloatArray& weight : *drawn) floats += static_cast<int64_t>(weight.values.size());
  EXPECT_GE(floats, row.parameters);
}

}  // namespace
}  // namespace vitrine
