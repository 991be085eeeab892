// SPDX-License-Identifier: Apache-2.0
// Tests the checkpoints in the source tree: they must be complete, valid, and as accurate as stated.
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/data/dataset.h"
#include "common/data/subset.h"
#include "common/imaging/decode.h"
#include "common/imaging/preprocess.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/repository/stored_version.h"
#include "tests/paths.h"
#include "trainer/evaluate.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

const fs::path kBundled = fs::path(VITRINE_SOURCE) / "models/bundled";

absl::StatusOr<FloatArray> ToInput(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  const Image image = *Decode(bytes);
  const Geometry geometry = *PlanGeometry(preprocessing, {image.height, image.width});
  return FloatArray{.shape = {preprocessing.channels(), geometry.input.height, geometry.input.width},
                    .values = Preprocess(image, preprocessing, geometry)};
}

TEST(BundledModels, EveryVersionReproducesItsGoldensAndHasACard) {
  const auto versions = ListVersions(kBundled);
  ASSERT_TRUE(versions.ok()) << versions.status();
  std::vector<std::string> models;
  for (const VersionId& id : *versions) {
    SCOPED_TRACE(id.model);
    models.push_back(id.model);
    const auto version = ReadVersion(kBundled, id);
    ASSERT_TRUE(version.ok()) << version.status();
    const auto model = BuildModel(*version);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::Status golden = CheckGolden(*version, **model, ForwardOf(**model), ToInput, "cpu", "fp32");
    EXPECT_TRUE(golden.ok()) << golden;
    EXPECT_FALSE(version->manifest.provenance().data().empty());
    EXPECT_FALSE(version->manifest.provenance().metrics().empty());
    EXPECT_TRUE(fs::exists(kBundled / id.model / std::to_string(id.version) / "model_card.md"));
  }
  EXPECT_THAT(models, ::testing::IsSupersetOf({"eit-mini-cifar10", "kv-pos-mnist", "xcit-n12-f-sne-cifar10"}));
}

// Measures the newest version again, at the image size of the manifest's first metric. A large model needs a minute for
// the whole split, so the whole split is measured only with $VITRINE_WHOLE_SPLITS. Otherwise every tenth image is
// measured, and `of_a_tenth` is the expected accuracy.
void ExpectAccuracy(const std::string& name, const std::string& data, std::optional<Size> size, double at_least,
                    std::optional<double> of_a_tenth = std::nullopt) {
  const auto versions = ListVersions(kBundled);
  ASSERT_TRUE(versions.ok()) << versions.status();
  VersionId newest;
  for (const VersionId& id : *versions) {
    if (id.model == name) newest = id;
  }
  const auto version = ReadVersion(kBundled, newest);
  ASSERT_TRUE(version.ok()) << version.status();
  auto opened = OpenDataset(data, Split::kTest);
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::shared_ptr<const Dataset> test = *std::move(opened);
  const double claimed = version->manifest.provenance().metrics(0).value();
  EXPECT_GE(claimed, at_least);
  const bool whole = !of_a_tenth || std::getenv("VITRINE_WHOLE_SPLITS") != nullptr;
  if (!whole) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < test->size(); i += 10) indices.push_back(i);
    test = MakeSubset(test, indices);
  }
  const auto accuracy = Evaluate(**BuildModel(*version), *test, size, {.threads = 2});
  ASSERT_TRUE(accuracy.ok()) << accuracy.status();
  // Another machine may sum in another order, which changes the class of a few images.
  EXPECT_NEAR(accuracy->top1(), whole ? claimed : *of_a_tenth, whole ? 0.001 : 0.002);
}

TEST(BundledModels, KvPosReachesThePublishedAccuracy) {
  const char* folder = std::getenv("VITRINE_DATA");
  if (folder == nullptr) GTEST_SKIP() << "VITRINE_DATA is not set, so MNIST's test split was not measured";
  ExpectAccuracy("kv-pos-mnist", std::string("mnist:") + folder + "/mnist", std::nullopt, 0.982);
}

// Returns the first line that a command prints.
std::string Printed(const char* command) {
  FILE* pipe = popen(command, "r");
  std::string line;
  for (int c; (c = std::fgetc(pipe)) != EOF && c != '\n';) line += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return line;
}

TEST(BundledModels, EitAndXcitReachTheirAccuracyOnCifar) {
  if (std::getenv("VITRINE_DATA") == nullptr) GTEST_SKIP() << "VITRINE_DATA is not set, so CIFAR-10 was not measured";
  const std::string images = "imagefolder:" + Printed(VITRINE_SOURCE "/script/dev/cifar10-test-split");
  ExpectAccuracy("eit-mini-cifar10", images, Size{32, 32}, 0.785, 0.797);
  ExpectAccuracy("xcit-n12-f-sne-cifar10", images, Size{64, 64}, 0.84, 0.839);
}

}  // namespace
}  // namespace vitrine
