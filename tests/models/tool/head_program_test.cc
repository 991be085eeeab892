// SPDX-License-Identifier: Apache-2.0
// Tests the program `vitrine-repo head`, and serves the versions that the program publishes.
#include <gmock/gmock.h>

#include "models/repository/manifest.h"
#include "models/repository/stored_version.h"
#include "tests/common/imaging/images.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/models/config_text.h"
#include "tests/models/tool/repo_program.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ModelConfig VitConfig(int classes, const std::string& more) {
  return Config(
      absl::StrCat("classes: ", classes,
                   " preprocessing { channels: 3 mean: [0.5, 0.5, 0.5] std: [0.25, 0.25, 0.25] interpolation: BICUBIC "
                   "fixed { height: 16 width: 16 fit: CENTER_CROP } } "
                   "vit { patch: 4 width: 24 depth: 2 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 ",
                   more, " }"));
}

// Returns an image of one colour. `i` changes its size and shade.
std::string Colour(int i, uint8_t red, uint8_t blue) {
  return PngFile(PlainImage(20 + i, 24 - i, {static_cast<uint8_t>(red + i), 90, static_cast<uint8_t>(blue + i)}));
}

// An image folder of two classes, and a repository.
class HeadProgram : public RepoProgram {
 protected:
  HeadProgram() {
    for (int i = 0; i < 5; ++i) {
      Write(absl::StrCat("photos/train/ruby/", i, ".png"), Colour(i, 200, 30));
      Write(absl::StrCat("photos/train/azure/", i, ".png"), Colour(i, 30, 200));
    }
  }

  void Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  Outcome Head(const std::string& model, const std::string& more = "") const {
    return Run(absl::StrCat("head ", Path("models"), " ", model, " --data imagefolder:", Path("photos"), " ", more));
  }

  void ExpectServed(const std::string& model) const {
    RunningServer server(Path("models"));
    for (const bool is_red : {true, false}) {
      v1::ClassifyResponse response;
      const grpc::Status status =
          server.Classify(ImageRequest(model, is_red ? Colour(7, 200, 30) : Colour(7, 30, 200)), &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      ASSERT_EQ(response.predictions_size(), 2);
      EXPECT_EQ(response.predictions(0).label(), is_red ? "ruby" : "azure");
      EXPECT_GT(response.predictions(0).probability(), 0.8);
    }
  }
};

TEST_F(HeadProgram, AddsAHeadToAModelWithoutClasses) {
  PublishModel(Path("models"), "dino", VitConfig(0, "registers: 2"));
  EXPECT_THAT(
      Run(absl::StrCat("quantize ", Path("models"), " dino --precision int8 --data imagefolder:", Path("photos")))
          .error,
      HasSubstr("has no classes, so no accuracy can be measured, and it runs in fp32 only; `vitrine-repo head`"));
  const Outcome made = Head("dino pets");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_THAT(made.out, AllOf(HasSubstr("top-1 100.00 % of 10 images"), HasSubstr("pets/1"),
                              HasSubstr("dino/1 with a head for 2 classes, head --kind probe --alpha "),
                              Not(HasSubstr("admin label"))));
  const StoredVersion from = *ReadVersion(Path("models"), {"dino", 1}),
                      pets = *ReadVersion(Path("models"), {"pets", 1});
  EXPECT_THAT(pets.labels, ElementsAre("azure", "ruby"));
  const v1::Provenance& provenance = pets.manifest.provenance();
  EXPECT_THAT(provenance.recipe(), HasSubstr("head --kind probe --alpha "));
  EXPECT_EQ(provenance.data(), "photos train, 10 images, 5 in each of 2 classes");
  EXPECT_EQ(provenance.data_digest().size(), 64);
  EXPECT_EQ(provenance.started_from(), "dino/1");
  EXPECT_EQ(provenance.continued_from(), from.weights_sha256);
  const Outcome verified = Run(absl::StrCat("verify ", Path("models")));
  EXPECT_EQ(verified.exit_code, 0) << verified.out;
  ExpectServed("pets");
}

TEST_F(HeadProgram, ReplacesAHeadAndRemovesItsMeasurements) {
  const VersionId id = PublishModel(Path("models"), "eit", MixedConfig());
  StoredVersion version = *ReadVersion(Path("models"), id);
  v1::Calibration& calibration = *version.manifest.mutable_calibration();
  calibration.set_temperature(2);
  calibration.set_sure_accuracy(0.9);
  calibration.set_pictures(100);
  ASSERT_TRUE(
      Publish(Path("models"), "eit", {version.manifest, version.weights, version.golden, version.labels, {}}).ok());
  const Outcome made = Head("eit", "--kind prototypes");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_THAT(made.out, AllOf(HasSubstr("eit/3"), HasSubstr("head --kind prototypes;")));
  EXPECT_THAT(made.out, HasSubstr("its classes are not those of eit/2, so servers keep the version that they serve "
                                  "until they restart, or until `vitrine admin label eit@3 stable`\n"));
  EXPECT_THAT(Head("eit@2").out, AllOf(HasSubstr("eit/4"), Not(HasSubstr("admin label"))))
      << "the classes of eit/3, which is the newest";
  EXPECT_FALSE(ReadManifest(Path("models"), {"eit", 3})->has_calibration());
  ExpectServed("eit");
}

TEST_F(HeadProgram, NamesEveryImageThatCannotBeDecoded) {
  PublishModel(Path("models"), "eit", MixedConfig());
  Write("photos/train/azure/a.png", "no image");
  Write("photos/train/ruby/z.jpg", "no image");
  const Outcome refused = Head("eit pets");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("2 images cannot be decoded; repair or remove them"),
                                   HasSubstr("azure/a.png"), HasSubstr("ruby/z.jpg")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "models/pets"));
}

TEST_F(HeadProgram, RefusesUnsuitableModelsAndData) {
  PublishModel(Path("models"), "deit", VitConfig(3, "distilled: true"));
  PublishModel(Path("models"), "eit", MixedConfig());
  EXPECT_THAT(Head("deit").error, AllOf(HasSubstr("deit/1: its logits are not those of one linear layer"),
                                        HasSubstr("without --zero-shot")));
  EXPECT_EQ(Head("eit", "--kind prototypes --alpha 1").exit_code, 2);
  Write("photos/train/single/0.png", Colour(0, 1, 1));
  EXPECT_THAT(Head("eit").error, HasSubstr("--data has 1 image of class \"single\"; each class needs at least 2"));
}

}  // namespace
}  // namespace vitrine::testing
