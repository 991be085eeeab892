// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/publish.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "common/imaging/preprocess.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "tests/read_file.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Recipe PublishedRecipe() {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(1);
  recipe.set_storage(v1::Recipe::BF16);
  recipe.mutable_data()->set_published("99 % by nobody");
  recipe.mutable_data()->add_digests(*ContentDigestOf(kTrainSquares));
  recipe.add_evaluation_sizes("16");
  recipe.add_evaluation_sizes("16x8");
  return recipe;
}

absl::StatusOr<FloatArray> ToInput(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  const Image image = *Decode(bytes);
  const Geometry geometry = *PlanGeometry(preprocessing, {image.height, image.width});
  return FloatArray{.shape = {preprocessing.channels(), geometry.input.height, geometry.input.width},
                    .values = Preprocess(image, preprocessing, geometry)};
}

class PublishedVersion : public ::testing::Test {
 protected:
  void SetUp() override {
    TrainOptions options;
    options.work_dir = folder_.path() / "work";
    const auto task = ImageTask::Make(PublishedRecipe(), kTrainSquares, nullptr);
    ASSERT_TRUE(task.ok()) << task.status();
    auto result = Train(PublishedRecipe(), **task, options);
    ASSERT_TRUE(result.ok()) << result.status();
    PublishOptions publish;
    publish.repository = repository_;
    publish.model = "squares";
    publish.origin = {.data = "imagefolder:squares", .overrides = {"epochs=1"}, .licence = "CC-BY-4.0"};
    const auto id = PublishResult(PublishedRecipe(), *result, kTrainSquares, kTestSquares, publish);
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_EQ(id->version, 1) << "a missing folder becomes a repository";
    auto version = ReadVersion(repository_, *id);
    ASSERT_TRUE(version.ok()) << version.status();
    version_ = *std::move(version);
    trained_ = std::move(result->model);
  }

  ScratchFolder folder_;
  const std::filesystem::path repository_ = folder_.path() / "repository";
  StoredVersion version_;
  std::unique_ptr<Module> trained_;
};

TEST_F(PublishedVersion, StoredWeightsReproduceTheGoldens) {
  const auto model = BuildModel(version_);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status status = CheckGolden(version_, **model, ForwardOf(**model), ToInput, "cpu", "fp32");
  EXPECT_TRUE(status.ok()) << status;
  // The stored weights are rounded to bf16, so they differ from the trained weights.
  EXPECT_FALSE(at::equal(trained_->Parameters()[0].tensor, (*model)->Parameters()[0].tensor));
  int inputs = 0, images = 0;
  for (const auto& [name, tensor] : version_.golden.tensors) {
    inputs += name.starts_with("input.");
    images += name.starts_with("picture.");
  }
  EXPECT_EQ(inputs, 4) << "two of each evaluation size";
  EXPECT_EQ(images, 2);
}

TEST_F(PublishedVersion, ManifestHasTheProvenanceOfTheWeights) {
  const v1::Provenance& provenance = version_.manifest.provenance();
  EXPECT_EQ(provenance.recipe(), "small --set epochs=1");
  EXPECT_EQ(provenance.data(), "coloured squares");
  EXPECT_EQ(provenance.data_digest(), *ContentDigestOf(kTrainSquares));
  EXPECT_EQ(provenance.images_seen(), 96);
  EXPECT_EQ(provenance.epochs(), 1);
  EXPECT_EQ(provenance.seed(), 7);
  EXPECT_GT(provenance.train_seconds(), 0);
  ASSERT_EQ(provenance.metrics_size(), 2);
  EXPECT_EQ(provenance.metrics(1).split(), "test 16x8");
  EXPECT_EQ(provenance.metrics(1).images(), 48);
  // The published accuracy must be the accuracy of the stored weights.
  const auto model = BuildModel(version_);
  ASSERT_TRUE(model.ok());
  EXPECT_DOUBLE_EQ(Evaluate(**model, kTestSquares, Size{16, 8})->top1(), provenance.metrics(1).value());
  EXPECT_EQ(version_.labels, kTrainSquares.labels());
}

TEST_F(PublishedVersion, HasAModelCardAndTheRecipe) {
  const std::filesystem::path version = repository_ / "squares" / "1";
  const std::string card = ReadFile(version / "model_card.md");
  EXPECT_THAT(card, HasSubstr("On coloured squares"));
  EXPECT_THAT(card, HasSubstr("Published: 99 % by nobody"));
  EXPECT_THAT(card, HasSubstr("| started from | random weights |"));
  EXPECT_THAT(card, HasSubstr("| licence | CC-BY-4.0 |"));
  EXPECT_THAT(card, HasSubstr("| test 16x8 | 48 |"));
  EXPECT_THAT(card, HasSubstr("16x16 (60 %)"));
  EXPECT_THAT(card, HasSubstr("weights stored as bf16"));
  EXPECT_TRUE(std::filesystem::exists(version / "recipe.textproto"));
}

TEST(ModelCard, NamesUnknownDataAsGiven) {
  v1::Recipe recipe = PublishedRecipe();
  recipe.mutable_data()->clear_digests();
  TrainResult result;
  result.data_digest = *ContentDigestOf(kTrainSquares);
  v1::Manifest manifest;
  *manifest.mutable_provenance() = MakeProvenance(recipe, result, {.data = "imagefolder:own"});
  EXPECT_EQ(manifest.provenance().data(), "imagefolder:own");
  const std::string card = ModelCard(recipe, manifest, result);
  EXPECT_THAT(card, HasSubstr("| licence | not stated |"));
  EXPECT_THAT(card, AllOf(HasSubstr("On imagefolder:own"), HasSubstr(result.data_digest), Not(HasSubstr("Published")),
                          HasSubstr("written for coloured squares")));
}

TEST(ModelCard, DistinguishesTheBestStateFromTheWholeTraining) {
  TrainResult result;
  result.is_best = true;
  result.epochs = 1;
  result.samples = 72;
  result.last_epoch = 4;
  result.position.samples = 288;
  result.position.seconds = 2;
  v1::Manifest manifest;
  *manifest.mutable_provenance() = MakeProvenance(PublishedRecipe(), result, {.source_revision = "0123456789ab"});
  EXPECT_EQ(manifest.provenance().epochs(), 1);
  EXPECT_EQ(manifest.provenance().images_seen(), 72);
  EXPECT_THAT(ModelCard(PublishedRecipe(), manifest, result),
              AllOf(HasSubstr("| epochs | 1.00; the whole training had 4.00 |"),
                    HasSubstr("| images seen | 72; the whole training saw 288 |"), HasSubstr(" 144 images/s"),
                    HasSubstr("| program | revision 0123456789ab, digest ")));
}

TEST_F(PublishedVersion, IsNotPublishedTwice) {
  v1::Recipe recipe = PublishedRecipe();
  const auto task = ImageTask::Make(recipe, kTrainSquares, nullptr);
  const auto result = Train(recipe, **task, {.work_dir = folder_.path() / "work", .resume = true});
  ASSERT_TRUE(result.ok()) << result.status();
  PublishOptions publish;
  publish.repository = repository_;
  publish.model = "squares";
  publish.origin = {.data = "imagefolder:squares", .overrides = {"epochs=1"}, .licence = "CC-BY-4.0"};
  EXPECT_EQ(PublishResult(recipe, *result, kTrainSquares, kTestSquares, publish)->version, 1);
  publish.origin.licence = "MIT";
  EXPECT_EQ(PublishResult(recipe, *result, kTrainSquares, kTestSquares, publish)->version, 2);
}

// Trains again, publishes under the same name, and returns the published version.
absl::StatusOr<StoredVersion> Further(const v1::Recipe& recipe, const std::filesystem::path& work,
                                      const std::filesystem::path& repository) {
  const auto task = ImageTask::Make(recipe, kTrainSquares, nullptr);
  if (!task.ok()) return task.status();
  TrainOptions options;
  options.work_dir = work;
  const auto result = Train(recipe, **task, options);
  if (!result.ok()) return result.status();
  PublishOptions publish;
  publish.repository = repository;
  publish.model = "squares";
  const auto id = PublishResult(recipe, *result, kTrainSquares, kTestSquares, publish);
  if (!id.ok()) return id.status();
  return ReadVersion(repository, *id);
}

TEST_F(PublishedVersion, NamesAncestorsAndAverages) {
  v1::Recipe recipe = PublishedRecipe();
  recipe.set_ema_decay(0.9);
  recipe.mutable_start()->set_version((repository_ / "squares").string());
  recipe.mutable_distillation()->set_teacher((repository_ / "squares/1").string());
  ASSERT_TRUE(PinVersions(recipe).ok());
  EXPECT_EQ(recipe.start().version(), (repository_ / "squares/1").string());
  EXPECT_EQ(recipe.distillation().teacher(), (repository_ / "squares/1").string());
  v1::Recipe again = recipe;
  again.mutable_start()->set_version((repository_ / "squares").string());
  v1::Recipe before = recipe;
  before.mutable_start()->set_version((repository_ / "squares/7").string());
  ASSERT_TRUE(PinVersions(again, before).ok());
  EXPECT_EQ(again.start().version(), (repository_ / "squares/7").string()) << "that of the state";
  before.mutable_start()->set_version((repository_ / "circles/7").string());
  again.mutable_start()->set_version((repository_ / "squares").string());
  ASSERT_TRUE(PinVersions(again, before).ok());
  EXPECT_EQ(again.start().version(), (repository_ / "squares/1").string()) << "another model: the newest";
  const auto continued = Further(recipe, folder_.path() / "continued", repository_);
  ASSERT_TRUE(continued.ok()) << continued.status();
  const v1::Provenance& provenance = continued->manifest.provenance();
  EXPECT_EQ(provenance.started_from(), "squares/1");
  EXPECT_EQ(provenance.continued_from(), version_.weights_sha256);
  EXPECT_EQ(provenance.teacher(), "squares/1");
  EXPECT_EQ(provenance.teacher_digest(), version_.weights_sha256);
  EXPECT_EQ(provenance.ema_decay(), 0.9);
  EXPECT_EQ(provenance.licence(), "CC-BY-4.0") << "that of the weights it started from";
  EXPECT_TRUE(provenance.continues());
  EXPECT_EQ(provenance.epochs(), 2);
  EXPECT_EQ(provenance.images_seen(), 192);
  EXPECT_GT(provenance.train_seconds(), version_.manifest.provenance().train_seconds());
  EXPECT_THAT(continued->extra_files.at("model_card.md"),
              AllOf(HasSubstr("| continued from | squares/1, weights "), HasSubstr("include its own"),
                    HasSubstr("| teacher | squares/1"), HasSubstr("moving average of training, decay 0.9")));

  // There is a newer version now, but the recipe still names the first one.
  recipe.mutable_start()->set_replace_head(true);
  const auto transferred = Further(recipe, folder_.path() / "transferred", repository_);
  ASSERT_TRUE(transferred.ok()) << transferred.status();
  EXPECT_EQ(transferred->manifest.provenance().started_from(), "squares/1");
  EXPECT_FALSE(transferred->manifest.provenance().continues());
  EXPECT_EQ(transferred->manifest.provenance().epochs(), 1);
}

TEST_F(PublishedVersion, MissingStartVersionsAreNamed) {
  v1::Recipe recipe = PublishedRecipe();
  recipe.mutable_start()->set_version((repository_ / "circles").string());
  EXPECT_TRUE(absl::IsNotFound(PinVersions(recipe))) << PinVersions(recipe);
  v1::Recipe without = PublishedRecipe();
  EXPECT_TRUE(PinVersions(without).ok());
  EXPECT_FALSE(without.has_start());
}

TEST(ModelCard, HasTheActualSamplesPerStep) {
  v1::Recipe recipe = PublishedRecipe();
  recipe.set_batch(128);
  recipe.set_accumulate(8);
  recipe.mutable_optimizer()->set_lr(1e-3);
  recipe.mutable_optimizer()->set_per_512(true);
  TrainResult result;
  result.position.samples_per_step = 24;
  EXPECT_THAT(
      ModelCard(recipe, v1::Manifest(), result),
      AllOf(HasSubstr("| step | 24 images, 8 batches of 3; the recipe has 1024, but the data set is too small |"),
            HasSubstr("learning rate 0.001 for 512 images a step, 4.69e-05 here")));
  result.position.samples_per_step = 1024;
  EXPECT_THAT(ModelCard(recipe, v1::Manifest(), result), HasSubstr("| step | 1024 images, 8 batches of 128 |"));
}

TEST(ModelCard, ReportsAStoppedRun) {
  TrainResult result;
  EXPECT_THAT(ModelCard(PublishedRecipe(), v1::Manifest(), result), HasSubstr("stopped"));
  result.finished = true;
  EXPECT_THAT(ModelCard(PublishedRecipe(), v1::Manifest(), result), Not(HasSubstr("stopped")));
}

}  // namespace
}  // namespace vitrine
