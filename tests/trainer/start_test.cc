// SPDX-License-Identifier: Apache-2.0
// Tests what a training takes over from its start version.
#include "trainer/tasks/start.h"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/trainer/coloured_squares.h"
#include "tests/trainer/untrained_version.h"
#include "trainer/loop.h"
#include "trainer/recipe/recipe.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;

const ColouredSquares kFewSquares(24, 1);

// A version whose preprocessing differs from the preprocessing of the zoo and of SmallRecipe, as in an imported
// version.
class StartVersion : public ::testing::Test {
 protected:
  StartVersion() {
    v1::Preprocessing& own = *version_.mutable_preprocessing();
    own.clear_mean();
    own.clear_std();
    for (const float mean : {0.485F, 0.456F, 0.406F}) own.add_mean(mean);
    for (const float deviation : {0.229F, 0.224F, 0.225F}) own.add_std(deviation);
    own.set_interpolation(v1::BILINEAR);
    recipe_.mutable_start()->set_version(PublishUntrained(folder_.path(), version_, kFewSquares.labels()));
  }
  absl::StatusOr<v1::Preprocessing> Trained() const {
    const auto task = ImageTask::Make(recipe_, kFewSquares, nullptr);
    if (!task.ok()) return task.status();
    return (*task)->config().preprocessing();
  }
  // Returns the version's config with `classes` classes.
  v1::ModelConfig Config(int classes) const {
    v1::ModelConfig config = version_;
    config.set_classes(classes);
    return config;
  }
  void Set(const std::string& assignment) {
    const absl::Status status = ApplyOverride(assignment, recipe_);
    ASSERT_TRUE(status.ok()) << status;
  }

  ScratchFolder folder_;
  v1::Recipe recipe_ = SmallRecipe();
  v1::ModelConfig version_ = *ConfigOf(recipe_);
};

TEST_F(StartVersion, PreprocessingComesFromTheVersion) {
  const auto trained = Trained();
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*trained, version_.preprocessing())) << trained->DebugString();
}

TEST_F(StartVersion, ClassesInAnotherOrderKeepTheHead) {
  const std::vector<std::string>& order = kFewSquares.labels();
  const std::vector<std::string> other = {order[2], order[0], order[1]};
  recipe_.mutable_start()->set_version(PublishUntrained(folder_.path() / "other", version_, other));
  Set("model=");
  Set("model_overrides={}");
  const auto data = OrderAsStart(recipe_, std::make_unique<ColouredSquares>(24, 1));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->labels(), other);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ((*data)->labels()[(*data)->label(i)], order[kFewSquares.label(i)]);
  const auto task = ImageTask::Make(recipe_, **data, nullptr);
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_THAT((*task)->StartInWords(), HasSubstr("head: the version's, 3 classes"));
}

TEST_F(StartVersion, OtherClassesKeepTheirOrder) {
  recipe_.mutable_start()->set_version(PublishUntrained(folder_.path() / "other", version_, {"one", "red", "two"}));
  const auto data = OrderAsStart(recipe_, std::make_unique<ColouredSquares>(24, 1));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->labels(), kFewSquares.labels());
}

TEST_F(StartVersion, AnotherPreprocessingIsRefusedWithoutItsFlag) {
  Set("model_overrides.preprocessing.mean=0.5,0.5,0.5");
  EXPECT_EQ(Trained().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Trained().status().message()),
              AllOf(HasSubstr("mean: [0.5, 0.5, 0.5]"), HasSubstr("mean: [0.485, 0.456, 0.406]"), HasSubstr("source/1"),
                    HasSubstr("--set start.replace_preprocessing=true")));
}

TEST_F(StartVersion, TheFlagSelectsTheRecipesPreprocessing) {
  Set("model_overrides.preprocessing.mean=0.5,0.5,0.5");
  Set("start.replace_preprocessing=true");
  const auto trained = Trained();
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*trained, ConfigOf(recipe_)->preprocessing())) << trained->DebugString();
}

TEST_F(StartVersion, TheModelDefaultsToThatOfTheVersion) {
  const std::vector<std::string> labels = {"one", "two"};
  recipe_.mutable_start()->set_version(PublishUntrained(folder_.path() / "two", Config(2), labels));
  Set("model=");
  Set("model_overrides={}");
  const auto task = ImageTask::Make(recipe_, kFewSquares, nullptr);
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_TRUE(MessageDifferencer::Equals((*task)->config(), Config(3))) << (*task)->config().DebugString();
  EXPECT_THAT((*task)->StartInWords(),
              AllOf(HasSubstr("source/1"), HasSubstr("head: new random weights, 3 classes instead of 2")));
  recipe_.mutable_start()->set_version(PublishUntrained(folder_.path() / "three", version_, {"a", "b", "c"}));
  EXPECT_THAT((*ImageTask::Make(recipe_, kFewSquares, nullptr))->StartInWords(),
              HasSubstr("head: new random weights, 3 other classes"));
}

TEST_F(StartVersion, AFrozenBodyDoesNotChange) {
  Set("model_overrides.eit.convolution=BN_RELU");  // BatchNorm has running statistics
  recipe_.mutable_start()->set_version(
      PublishUntrained(folder_.path() / "statistics", *ConfigOf(recipe_), kFewSquares.labels()));
  Set("start.freeze_body=true");
  Set("epochs=2");
  const auto task = ImageTask::Make(recipe_, kFewSquares, nullptr);
  ASSERT_TRUE(task.ok()) << task.status();
  const auto before = (*task)->MakeModel();
  const auto result = Train(recipe_, **task, {.work_dir = folder_.path() / "work", .threads = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::set<std::string> head = *HeadOf((*task)->config());
  ASSERT_FALSE(head.empty());
  const auto tensors = [](const Module& model) {
    std::vector<NamedTensor> all = model.Parameters();
    for (const NamedTensor& buffer : model.Buffers()) all.push_back(buffer);
    return all;
  };
  const std::vector<NamedTensor> old = tensors(**before), now = tensors(*result->model);
  ASSERT_GT(now.size(), (*before)->Parameters().size()) << "no statistics to look at";
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(at::equal(old[i].tensor, now[i].tensor), !head.contains(now[i].name)) << now[i].name;
  }
}

TEST_F(StartVersion, AnotherFamilyIsRefusedWithTheRemedy) {
  Set("model=vit-ti16");
  Set("model_overrides={classes: 3}");
  EXPECT_EQ(Trained().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Trained().status().message()),
              AllOf(HasSubstr("source/1 belongs to family eit"), HasSubstr("vit-ti16 of family vit"),
                    HasSubstr("the recipe finetune")));
}

TEST_F(StartVersion, AVersionWithAFixedSizeIsTrainedAtThisSize) {
  version_.mutable_preprocessing()->clear_native();
  v1::FixedResolution& fixed = *version_.mutable_preprocessing()->mutable_fixed();
  fixed.set_height(16);
  fixed.set_width(16);
  fixed.set_fit(v1::FixedResolution::CENTER_CROP);
  fixed.set_crop(0.9);
  recipe_.mutable_start()->set_version(PublishUntrained(folder_.path() / "fixed", version_, kFewSquares.labels()));
  recipe_.mutable_model_overrides()->clear_preprocessing();
  EXPECT_THAT(std::string(Trained().status().message()),
              AllOf(HasSubstr("sizes has 8x16"), HasSubstr("source/1 with its preprocessing uses every image at 16x16"),
                    HasSubstr("--set sizes=[]"), HasSubstr("start.replace_preprocessing=true")));
  Set("sizes=[{height: 16 width: 16 weight: 1}]");
  EXPECT_TRUE(Trained().ok()) << Trained().status();
  Set("sizes=[]");
  EXPECT_TRUE(Trained().ok()) << Trained().status();
}

TEST_F(StartVersion, TheErrorForAMissingVersionListsTheExisting) {
  recipe_.mutable_start()->set_version(folder_.Path("sauce"));
  EXPECT_EQ(Trained().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Trained().status().message()), HasSubstr("no version of sauce; it has source/1"));
  recipe_.mutable_start()->set_version(folder_.Path("source/7"));
  EXPECT_THAT(std::string(Trained().status().message()), HasSubstr("source with the number 7; it has source/1"));
  recipe_.mutable_start()->set_version(folder_.Path("nowhere/source"));
  EXPECT_EQ(Trained().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Trained().status().message()), HasSubstr("missing repository"));
}

// Images of a single class.
class OneClass final : public Dataset {
 public:
  OneClass() { labels_ = {"red"}; }
  int64_t size() const override { return 4; }
  int label(int64_t) const override { return 0; }
  std::string name(int64_t index) const override { return kFewSquares.name(index); }
  absl::StatusOr<Image> image(int64_t index) const override { return kFewSquares.image(index); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return kFewSquares.encoded(index); }
};

TEST_F(StartVersion, ASingleClassIsRefused) {
  Set("model_overrides.classes=1");
  Set("start.replace_head=true");
  const absl::Status status = ImageTask::Make(recipe_, OneClass(), nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("one class, red"), HasSubstr("one folder per class")));
}

}  // namespace
}  // namespace vitrine
