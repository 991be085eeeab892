// SPDX-License-Identifier: Apache-2.0
// Tests the versions that vitrine-train publishes, and its output about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/encode/encode_png.h"
#include "models/repository/stored_version.h"
#include "tests/trainer/coloured_squares.h"
#include "tests/trainer/train_program.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PublishProgram : public TrainProgram {
 protected:
  Outcome Publish(const std::string& more) {
    return Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 --publish ", repository_, " ", more));
  }
  v1::Provenance ProvenanceOf(int version) const {
    const auto stored = ReadVersion(repository_, {"small", version});
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? stored->manifest.provenance() : v1::Provenance();
  }
  void ReplaceTestImages(int width, int height) {
    const Image image{.width = width,
                      .height = height,
                      .channels = 3,
                      .pixels = std::vector<uint8_t>(size_t(3) * width * height, 120)};
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_ + "/test")) {
      if (file.is_regular_file()) std::ofstream(file.path(), std::ios::binary) << *EncodePng(image);
    }
  }
  std::string Card(int version) const { return Text(absl::StrCat("repository/small/", version, "/model_card.md")); }
};

TEST_F(PublishProgram, CardAndManifestHaveTheGivenInformation) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_data()->set_name("ImageNet-1k");
  recipe.mutable_data()->set_published("72.2 % in print");
  std::ofstream(recipe_) << PrintRecipe(recipe);
  const Outcome unknown = Publish("");
  ASSERT_EQ(unknown.exit_code, 0) << unknown.output;
  const std::string digest = ProvenanceOf(1).data_digest(), given = "imagefolder:" + data_;
  EXPECT_EQ(ProvenanceOf(1).data(), given);
  EXPECT_THAT(Card(1), AllOf(HasSubstr("On " + given), HasSubstr(digest), Not(HasSubstr("72.2 %"))));
  EXPECT_THAT(unknown.output, AllOf(HasSubstr("not known to be the recipe's data, ImageNet-1k"), HasSubstr(digest)));

  flags_ = absl::StrCat(" --data ", given, " --work ", folder_.Path("again"), " ");
  const Outcome known = Publish("--set data.digests=" + digest + " --start " + repository_ + "/small/1");
  ASSERT_EQ(known.exit_code, 0) << known.output;
  EXPECT_EQ(ProvenanceOf(2).data(), "ImageNet-1k");
  EXPECT_THAT(Card(2), AllOf(HasSubstr("On ImageNet-1k"), HasSubstr("72.2 % in print"),
                             HasSubstr("| continued from | small/1"), Not(HasSubstr("random weights"))));
}

// small/2 is the newest version when the run is resumed, but the run must still start from small/1.
TEST_F(PublishProgram, AResumedRunKeepsItsStartVersion) {
  ASSERT_EQ(Publish("").exit_code, 0);
  flags_ = absl::StrCat(" --data imagefolder:", data_, " --work ", folder_.Path("again"), " ");
  const std::string start = "--start " + repository_ + "/small";
  ASSERT_EQ(Publish(start).exit_code, 0);
  const Outcome again = Publish(start + " --resume");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("published already: small/2"));
}

// The printed line, the history, the result, the report and the manifest must not name a test split. Otherwise the
// figure would look like a score on unseen images.
TEST_F(PublishProgram, ScoresAreNotNamedTestWithoutATestSplit) {
  flags_ = absl::StrCat(" --data imagefolder:", data_, "/train --work ", work_, " ");
  const Outcome run =
      Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 1 --set evaluate_every=1 --publish ", repository_));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr(" has no test split"), HasSubstr("train top1 "), Not(HasSubstr("test top1"))));
  EXPECT_THAT(Text("work/history.csv"), AllOf(HasSubstr(",train_top1,"), Not(HasSubstr("test_"))));
  EXPECT_THAT(Text("work/result.json"), AllOf(HasSubstr("\"train\""), Not(HasSubstr("\"test\""))));
  EXPECT_THAT(Text("work/report.html"),
              AllOf(HasSubstr("48 of 48 train images"), Not(HasSubstr("test top1")), Not(HasSubstr("test images"))));
  EXPECT_EQ(ProvenanceOf(1).metrics(0).split(), "train");
}

// Three of these images side by side are wider than any image that the decoder accepts.
TEST_F(PublishProgram, LargeImagesArePublished) {
  ReplaceTestImages(2800, 1000);
  const Outcome run = Publish("--set evaluation_sizes=16");
  EXPECT_EQ(run.exit_code, 0) << run.output;
}

// The model accepts the centres of these images, but none of its grids is as long and narrow as the images.
TEST_F(PublishProgram, AnUnpublishableRunIsRefusedBeforeTheFirstStep) {
  ReplaceTestImages(2800, 40);
  const Outcome run = Publish("--set evaluation_sizes=16");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("closer to a square"));
  EXPECT_FALSE(std::filesystem::exists(work_ + "/steps.csv")) << run.output;
}

TEST_F(PublishProgram, SyntheticGoldensContainNoImageOfTheData) {
  ASSERT_EQ(Publish("").exit_code, 0);
  flags_ = absl::StrCat(" --data imagefolder:", data_, " --work ", folder_.Path("again"), " ");
  const Outcome run = Publish("--golden synthetic");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const std::string with = Text("repository/small/1/golden.safetensors");
  const std::string without = Text("repository/small/2/golden.safetensors");
  int held = 0;
  for (int i = 0; i < 9; ++i) {
    const std::string file = *ColouredSquares(9, 2).encoded(i);
    held += with.find(file) != std::string::npos;
    EXPECT_EQ(without.find(file), std::string::npos) << i;
  }
  EXPECT_EQ(held, 1);
  EXPECT_THAT(Card(1), HasSubstr("| goldens | images of the test split"));
  EXPECT_THAT(Card(2), HasSubstr("| goldens | synthetic patterns"));
}

}  // namespace
}  // namespace vitrine
