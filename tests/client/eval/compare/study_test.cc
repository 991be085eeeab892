// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/client/eval/made_data.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/client/lib/small_server.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ResolutionWish Resolution(int height, int width) {
  v1::ResolutionWish requested;
  requested.set_height(height);
  requested.set_width(width);
  return requested;
}

// Returns a server with two models. One model has native resolution (4 to 64 cells of 4x4 pixels). The other model has
// a fixed size of 28x28 pixels. The server reports one cost for each model.
SmallServer::Methods TwoModels() {
  SmallServer::Methods methods;
  v1::ModelVersion& native = *methods.models.add_versions();
  native.set_model("native");
  native.set_version(2);
  native.set_state(v1::READY);
  v1::Preprocessing& preprocessing = *native.mutable_config()->mutable_preprocessing();
  preprocessing.set_channels(3);
  preprocessing.mutable_native()->set_cell(4);
  preprocessing.mutable_native()->set_min_tokens(4);
  preprocessing.mutable_native()->set_max_tokens(64);
  v1::PictureCost& cost = *native.add_costs();
  cost.set_macs(2000000);
  cost.set_tokens(17);
  v1::ModelVersion& fixed = *methods.models.add_versions();
  fixed = native;
  fixed.set_model("fixed");
  fixed.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_height(28);
  fixed.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_width(28);
  fixed.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  fixed.mutable_costs(0)->set_macs(5000000);
  return methods;
}

class StudyTest : public ::testing::Test {
 protected:
  StudyPlan Plan() {
    StudyPlan plan;
    plan.command.data = "imagefolder:<pets>";
    plan.command.out = "study";
    plan.models = {{.name = "native", .version = std::nullopt}, {.name = "fixed", .version = std::nullopt}};
    plan.resolutions = {Resolution(16, 16), Resolution(24, 16), Resolution(400, 400)};
    return plan;
  }
  // Returns a runner whose accuracy increases with the resolution.
  CellRunner Runner() {
    return [this](const EvalCommand& command) -> absl::StatusOr<EvalResult> {
      ran_.push_back(command);
      EvalResult result;
      const int right = command.resolution ? command.resolution->height() / 8 : 2;
      std::vector<MadeImage> images;
      for (int i = 0; i < 4; ++i) images.push_back({0, {{i < right ? 0 : 1, 0.9f}}});
      result.evaluation = MadeEvaluation(images);
      return result;
    };
  }

  SmallServer server_{TwoModels()};
  std::unique_ptr<Client> client_ = ConnectTo(server_);
  const Evaluation evaluation_ = MadeEvaluation({{0, {{0, 0.9f}}}, {1, {{1, 0.9f}}}});
  const MadeData data_{evaluation_};
  std::vector<EvalCommand> ran_;
};

TEST_F(StudyTest, RunsPossibleCellsAndGivesReasonsForTheOthers) {
  const Study study = RunStudy(Plan(), *client_, data_, Runner());
  ASSERT_EQ(study.cells.size(), 6u);
  ASSERT_EQ(ran_.size(), 2u) << "a cell that the model refuses must send no image";
  EXPECT_EQ(ran_[0].model.name, "native");
  EXPECT_EQ(ran_[0].model.version, 2);
  EXPECT_EQ(ran_[0].out, "study/native-16");
  EXPECT_EQ(ran_[1].out, "study/native-24x16");
  EXPECT_EQ(ran_[1].resolution->height(), 24);
  EXPECT_DOUBLE_EQ(study.cells[0].metrics.top1, 0.5);
  EXPECT_DOUBLE_EQ(study.cells[1].metrics.top1, 0.75);
  EXPECT_EQ(study.cells[0].macs, 2000000);
  EXPECT_EQ(study.cells[2].status.code(), absl::StatusCode::kInvalidArgument)
      << "the resolution needs more tokens than the model accepts";
  for (const size_t i : {3u, 4u, 5u}) {
    EXPECT_EQ(study.cells[i].status.code(), absl::StatusCode::kInvalidArgument) << i;
    EXPECT_FALSE(study.cells[i].measured());
  }
  EXPECT_FALSE(study.complete());
}

TEST_F(StudyTest, UsesTheModelsOwnSizeIfNoneIsGiven) {
  StudyPlan plan = Plan();
  plan.resolutions = {std::nullopt};
  const Study study = RunStudy(plan, *client_, data_, Runner());
  ASSERT_EQ(ran_.size(), 2u);
  EXPECT_EQ(study.cells[0].folder, "native-own");
  EXPECT_FALSE(ran_[1].resolution.has_value());
  EXPECT_EQ(study.cells[1].macs, 5000000);
  EXPECT_TRUE(study.complete());
}

TEST_F(StudyTest, ALabelSelectsItsVersionAndHasItsOwnFolder) {
  SmallServer::Methods methods = TwoModels();
  v1::ModelVersion& canary = *methods.models.add_versions();
  canary = methods.models.versions(0);
  canary.set_version(3);
  canary.add_version_labels("canary");
  SmallServer server(methods);
  const auto client = ConnectTo(server);
  StudyPlan plan = Plan();
  plan.models = {{.name = "native"}, {.name = "native", .label = "canary"}, {.name = "native", .label = "none"}};
  plan.resolutions = {Resolution(16, 16)};
  const Study study = RunStudy(plan, *client, data_, Runner());
  ASSERT_EQ(ran_.size(), 2u);
  EXPECT_EQ(ran_[0].model.version, 2);
  EXPECT_EQ(ran_[1].model.version, 3);
  EXPECT_EQ(ran_[0].out, "study/native-16");
  EXPECT_EQ(ran_[1].out, "study/native@canary-16");
  EXPECT_EQ(study.cells[1].version, 3);
  EXPECT_EQ(study.cells[2].status.code(), absl::StatusCode::kNotFound);
}

TEST_F(StudyTest, ContinuesAfterAMissingModelAndEndsAfterALostServer) {
  StudyPlan plan = Plan();
  plan.models = {{.name = "no such", .version = std::nullopt}, {.name = "native", .version = 2}};
  plan.resolutions = {Resolution(16, 16), Resolution(16, 24)};
  const CellRunner lost = [&](const EvalCommand& command) -> absl::StatusOr<EvalResult> {
    ran_.push_back(command);
    return absl::UnavailableError("the server went away");
  };
  const Study study = RunStudy(plan, *client_, data_, lost);
  EXPECT_EQ(study.cells[0].status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(study.cells[1].status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(study.cells[2].folder, "native@2-16");
  EXPECT_EQ(study.cells[3].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ran_.size(), 1u);
}

TEST_F(StudyTest, AnIncompleteCellIsNeitherBestNorOnTheFrontier) {
  Study study = RunStudy(Plan(), *client_, data_, Runner());
  study.cells.resize(2);
  StudyCell& better = study.cells[1];
  const auto json = [&] { return StudyTable(study).AsJson(); };
  ASSERT_EQ(json()[1]["frontier"], true);
  better.metrics.ledger.images = 1000;  // only 4 images were answered
  better.metrics.ledger.missing = 996;
  EXPECT_EQ(json()[0]["frontier"], true);
  EXPECT_EQ(json()[1]["frontier"], false);
  const std::string page = DrawStudy(study);
  EXPECT_THAT(page, HasSubstr("native version 2, 16x16</"));
  EXPECT_THAT(page, HasSubstr("24x16, incomplete"));
  better.metrics.ledger = {.images = 5, .answered = 4, .unreadable = 1};
  EXPECT_EQ(json()[1]["frontier"], true) << "an unreadable image makes no cell incomplete";
  better.status = absl::CancelledError("stopped");
  EXPECT_EQ(json()[1]["frontier"], false);
}

// A data set of images with the given widths. Width 0 means that the file cannot be read. A negative width means that
// the file is not an image.
class Sized final : public MadeData {
 public:
  Sized(const Evaluation& evaluation, std::vector<int> widths) : MadeData(evaluation), widths_(std::move(widths)) {
    for (const int width : {8, 16}) images_[width] = PngFile(NoiseImage(width, 8, 3, 1));
  }
  int64_t size() const override { return static_cast<int64_t>(widths_.size()); }
  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const int width = widths_[static_cast<size_t>(index)];
    if (width == 0) return absl::NotFoundError("it is gone");
    return width < 0 ? "no image" : images_.at(width);
  }

 private:
  const std::vector<int> widths_;
  std::map<int, std::string> images_;
};

TEST_F(StudyTest, WithoutASizeTheCostIsTheMeanOverImages) {
  SmallServer::Methods methods = TwoModels();
  v1::ModelVersion& native = *methods.models.mutable_versions(0);
  native.mutable_costs(0)->set_macs(1000);  // cost of 8x8 pixels
  native.mutable_costs(0)->set_tokens(4);
  native.add_costs()->set_macs(4000);  // cost of 8x16 pixels
  native.mutable_costs(1)->set_tokens(10);
  SmallServer server(methods);
  const auto client = ConnectTo(server);
  const auto cost = [&](const std::vector<int>& widths) {
    return CostOf(*client, native, std::nullopt, Sized(evaluation_, widths));
  };
  const auto mean = cost({8, 0, -1, 16, 8});
  ASSERT_TRUE(mean.ok()) << mean.status();
  EXPECT_DOUBLE_EQ(mean->macs, 2000) << "the mean over two small images and a large one";
  EXPECT_DOUBLE_EQ(mean->tokens, 6);
  EXPECT_DOUBLE_EQ(cost({16, 8})->macs, 2500) << "the mean must include the first and the last image";
  EXPECT_EQ(cost({8}).status().code(), absl::StatusCode::kUnimplemented)
      << "the number of reported costs differs from the number of requested costs";
  EXPECT_EQ(cost({0, -1}).status(), absl::NotFoundError("no image's size could be read"));
  // The cost is the mean over 64 of the 128 images: every second image, including image 1.
  std::vector<int> many(128, 8);
  many[1] = 16;
  EXPECT_DOUBLE_EQ(cost(many)->macs, (63 * 1000.0 + 4000) / 64);
}

TEST_F(StudyTest, StoppingOneCellStopsTheStudy) {
  StudyPlan plan = Plan();
  plan.models = {{.name = "native"}};
  plan.resolutions = {Resolution(16, 16), Resolution(16, 24)};
  const CellRunner stopping = [&](const EvalCommand& command) -> absl::StatusOr<EvalResult> {
    ran_.push_back(command);
    return EvalResult{.stopped = absl::CancelledError("the run was stopped")};
  };
  const Study study = RunStudy(plan, *client_, data_, stopping);
  EXPECT_EQ(ran_.size(), 1u);
  EXPECT_EQ(study.cells[0].status, absl::CancelledError("the run was stopped"));
  EXPECT_EQ(study.cells[1].status, absl::CancelledError("the run was stopped"));
}

// Returns a study with about ten answered images in each cell.
Study MadeCells(const std::vector<std::pair<int64_t, std::optional<double>>>& right_and_macs) {
  Study study{.data = "imagefolder:<pets>", .split = "test"};
  for (const auto& [right, macs] : right_and_macs) {
    StudyCell& cell = study.cells.emplace_back();
    cell.model = absl::StrCat("m", study.cells.size());
    cell.version = 1;
    cell.macs = macs;
    cell.metrics.ledger = {.images = 10, .answered = 10};
    cell.metrics.top1 = 0.1 * static_cast<double>(right);
    cell.metrics.top1_correct = right;
  }
  return study;
}

TEST(StudyFrontier, HasTheCellsThatNoOtherCellBeats) {
  const auto frontier = [](const std::vector<std::pair<int64_t, std::optional<double>>>& cells) {
    std::vector<bool> on;
    for (const auto& cell : StudyTable(MadeCells(cells)).AsJson()) on.push_back(cell["frontier"]);
    return on;
  };
  EXPECT_THAT(frontier({{5, 1e6}, {5, 1e6}}), ElementsAre(true, true)) << "two equal cells are both on the frontier";
  EXPECT_THAT(frontier({{5, 1e6}, {5, 2e6}}), ElementsAre(true, false))
      << "an equal accuracy at a higher cost is not on the frontier";
  EXPECT_THAT(frontier({{5, 1e6}, {6, 1e6}}), ElementsAre(false, true))
      << "a lower accuracy at the same cost is not on the frontier";
  EXPECT_THAT(frontier({{5, 1e6}, {6, 2e6}}), ElementsAre(true, true));
  EXPECT_THAT(frontier({{5, 1e6}, {9, std::nullopt}}), ElementsAre(true, false))
      << "a cell without a known cost is not on the frontier";
}

TEST(StudyPage, CostsHaveTheirUnitAndModelsTheirColours) {
  Study study = MadeCells({{1, 999.0}, {2, 1e6}, {3, 1e9}, {4, 999e6}, {5, 2e6}, {6, 3e6}, {7, 4e6}});
  StudyCell& gone = study.cells.emplace_back();
  gone.model = "gone";
  gone.status = absl::NotFoundError("no such model");
  const std::string page = DrawStudy(study);
  for (const char* text :
       {">0.999 k<", ">1 M<", ">1 G<", ">999 M<", "of 8 have results", "<b>7</b>", "imagefolder:&lt;pets&gt;"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, HasSubstr("\"row\">gone</th><td>the model's policy</td><td>no such model</td>"));
  EXPECT_THAT(page, HasSubstr("m7 version 1, the model's policy"));
  EXPECT_THAT(page, Not(HasSubstr("currentColor"))) << "the seventh model must have the colour of the first";
  EXPECT_TRUE(StudyTable(study).AsJson()[7]["version"].is_null());
  EXPECT_EQ(StudyTable(study).AsJson()[0]["version"], 1);
}

TEST_F(StudyTest, SaysIfTheServerReportsNoCosts) {
  SmallServer::Methods silent = TwoModels();
  for (v1::ModelVersion& version : *silent.models.mutable_versions()) version.clear_costs();
  SmallServer server(silent);
  const auto client = ConnectTo(server);
  EXPECT_EQ(CostOf(*client, silent.models.versions(0), Resolution(16, 16), data_).status().code(),
            absl::StatusCode::kUnimplemented);
  StudyPlan plan = Plan();
  plan.resolutions = {Resolution(16, 16)};
  const Study study = RunStudy(plan, *client, data_, Runner());
  EXPECT_FALSE(study.cells[0].macs.has_value());
  EXPECT_TRUE(study.cells[0].measured()) << "a cell without a cost must be measured";
}

}  // namespace
}  // namespace vitrine
