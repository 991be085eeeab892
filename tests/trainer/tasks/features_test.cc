// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/features.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/files/safetensors.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

FeatureSet SmallSet(int64_t count, int64_t width = 3) {
  FeatureSet set{.features = at::arange(count * width, at::kFloat).view({count, width}), .labels = {}};
  for (int64_t i = 0; i < count; ++i) set.labels.push_back(static_cast<int>(i % 2));
  return set;
}

std::string RefusalOf(const std::map<std::string, at::Tensor>& tensors) {
  const ScratchFolder folder;
  Safetensors content;
  for (const auto& [name, tensor] : tensors) content.tensors[name] = StoredOf(tensor);
  const auto file = folder.Write("file.safetensors", *WriteSafetensors(content));
  const auto set = ReadFeatures(file);
  EXPECT_TRUE(absl::IsInvalidArgument(set.status())) << set.status();
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("file.safetensors"));
  return std::string(set.status().message());
}

TEST(FeaturesTest, ReadsBackWrittenFeatures) {
  const ScratchFolder folder;
  const FeatureSet set = SmallSet(6);
  ASSERT_TRUE(WriteFeatures(set, folder.path() / "train.safetensors").ok());
  const auto read = ReadFeatures(folder.path() / "train.safetensors");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(at::equal(read->features, set.features));
  EXPECT_EQ(read->labels, set.labels);
  EXPECT_FALSE(WriteFeatures(set, folder.path() / "absent" / "x").ok());
}

TEST(FeaturesTest, ReadsHalfPrecision) {
  const ScratchFolder folder;
  Safetensors content;
  content.tensors = {{"features", StoredOf(at::full({2, 2}, 0.5, at::kHalf))},
                     {"labels", StoredOf(at::arange(2, at::kLong))}};
  const auto file = folder.Write("x", *WriteSafetensors(content));
  EXPECT_TRUE(at::equal(ReadFeatures(file)->features, at::full({2, 2}, 0.5, at::kFloat)));
}

TEST(FeaturesTest, ErrorsNameTheFault) {
  const at::Tensor features = at::zeros({2, 3}, at::kFloat), labels = at::arange(2, at::kLong);
  EXPECT_THAT(RefusalOf({{"features", features}}), HasSubstr("no tensor \"labels\""));
  EXPECT_THAT(RefusalOf({{"features", features.flatten()}, {"labels", labels}}), HasSubstr("[vectors, values]"));
  EXPECT_THAT(RefusalOf({{"features", labels.unsqueeze(1)}, {"labels", labels}}), HasSubstr("F32, F16 or BF16"));
  EXPECT_THAT(RefusalOf({{"features", features}, {"labels", at::arange(3, at::kLong)}}),
              HasSubstr("is not [2] of I64"));
  EXPECT_THAT(RefusalOf({{"features", features}, {"labels", labels.to(at::kFloat)}}), HasSubstr("of I64"));
  EXPECT_THAT(RefusalOf({{"features", features}, {"labels", labels - 1}}), HasSubstr("row 0 has the label -1"));
  EXPECT_THAT(RefusalOf({{"features", features}, {"labels", labels * 1'000'000}}), HasSubstr("label 1000000"));
  EXPECT_THAT(RefusalOf({{"features", at::full({2, 3}, std::numeric_limits<float>::infinity())}, {"labels", labels}}),
              HasSubstr("features"));
  const ScratchFolder folder;
  EXPECT_TRUE(absl::IsNotFound(ReadFeatures(folder.path() / "absent").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFeatures(folder.Write("x", "no safetensors")).status()));
}

TEST(FeaturesTest, AFolderHasTwoFilesOfOneWidth) {
  const ScratchFolder folder;
  ASSERT_TRUE(WriteFeatures(SmallSet(6), folder.path() / "train.safetensors").ok());
  EXPECT_THAT(std::string(ReadFeatureSplits(folder.path()).status().message()), HasSubstr("test.safetensors"));
  ASSERT_TRUE(WriteFeatures(SmallSet(4, 2), folder.path() / "test.safetensors").ok());
  EXPECT_THAT(std::string(ReadFeatureSplits(folder.path()).status().message()),
              HasSubstr("train.safetensors has 3 values per vector, test.safetensors has 2"));
  ASSERT_TRUE(WriteFeatures(SmallSet(4), folder.path() / "test.safetensors").ok());
  EXPECT_EQ(ReadFeatureSplits(folder.path())->test.labels.size(), 4u);
}

TEST(FeaturesTest, ASingleFileUsesATenthOfEachClassForTheTest) {
  const ScratchFolder folder;
  ASSERT_TRUE(WriteFeatures(SmallSet(40), folder.path() / "all").ok());
  const auto splits = *ReadFeatureSplits(folder.path() / "all");
  EXPECT_EQ(splits.test.labels.size(), 4u);
  EXPECT_EQ(std::count(splits.test.labels.begin(), splits.test.labels.end(), 1), 2);
  // Every vector is in one of the two splits.
  const at::Tensor first = at::cat({splits.train.features, splits.test.features}).select(1, 0);
  EXPECT_TRUE(at::equal(std::get<0>(first.sort()), at::arange(0, 120, 3, at::kFloat)));
}

TEST(FeaturesTest, SharesOfAClassDependOnTheSeed) {
  const FeatureSet set = SmallSet(200);
  const auto [rest, taken] = SplitByClass(set, 0.25, 1);
  EXPECT_EQ(taken.labels.size(), 50u);
  EXPECT_EQ(rest.labels.size(), 150u);
  EXPECT_TRUE(at::equal(SplitByClass(set, 0.25, 1).second.features, taken.features));
  EXPECT_FALSE(at::equal(SplitByClass(set, 0.25, 2).second.features, taken.features));
}

TEST(FeaturesTest, GeneratedClustersAreSeparable) {
  const FeatureSplits splits = GeneratedClusters(64);
  EXPECT_EQ(splits.train.features.size(0), 2000);
  EXPECT_EQ(splits.test.features.size(0), 400);
  EXPECT_NEAR(splits.train.features.mean().item<double>(), 0, 0.05);
  // Test vectors are classified by the nearest of 20 centres; a centre is the mean of a class.
  const at::Tensor centres = splits.train.features.view({20, 100, 64}).mean(1);
  const at::Tensor distances = (splits.test.features.unsqueeze(1) - centres).square().sum(-1);  // [400, 20]
  const at::Tensor nearest = distances.argmin(1);
  int right = 0;
  for (size_t i = 0; i < splits.test.labels.size(); ++i) right += nearest[i].item<int64_t>() == splits.test.labels[i];
  EXPECT_GT(right, 320);
  EXPECT_EQ(GeneratedClusters(7).train.features.size(1), 7);
}

}  // namespace
}  // namespace vitrine
