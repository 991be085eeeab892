// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/training_report.h"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <set>
#include <vector>

#include "tests/trainer/coloured_squares.h"
#include "tests/trainer/watch/made_run.h"
#include "trainer/loop.h"
#include "trainer/recipe/recipe.h"
#include "trainer/watch/history_writer.h"
#include "trainer/watch/report/examine.h"
#include "trainer/watch/report/look.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const bool kOneThread = (SetComputeThreads(1), true);  // one thread per operator

std::unique_ptr<Model> SmallModel(const v1::Recipe& recipe) {
  const auto config = ConfigOf(recipe);
  EXPECT_TRUE(config.ok()) << config.status();
  return std::move(MakeModel(*config, 3)).value();
}

v1::Recipe CodesRecipe() {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_model("xcit-n12-f-sne-8");
  recipe.mutable_model_overrides()->Clear();
  recipe.mutable_model_overrides()->set_classes(3);
  recipe.clear_sizes();
  return recipe;
}

// Images of many classes. Every 7th image cannot be decoded.
class ManyClasses final : public Dataset {
 public:
  explicit ManyClasses(int classes) : squares_(classes, 1) {
    for (int i = 0; i < classes; ++i) labels_.push_back("class " + std::to_string(i));
  }
  int64_t size() const override { return squares_.size(); }
  int label(int64_t index) const override { return static_cast<int>(index); }
  std::string name(int64_t index) const override { return squares_.name(index); }
  absl::StatusOr<Image> image(int64_t index) const override {
    if (index % 7 == 0) return absl::InvalidArgumentError("broken");
    return squares_.image(index);
  }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return squares_.encoded(index); }

 private:
  const ColouredSquares squares_;
};

TEST(Examine, AgreesWithTheModelsPredictions) {
  const auto model = SmallModel(SmallRecipe());
  const ColouredSquares data(60, 5);
  const auto examined = Examine(*model, data, {.mistakes = 1000, .batch = 7});
  ASSERT_TRUE(examined.ok()) << examined.status();
  EXPECT_EQ(examined->images, 60);
  int64_t right = 0;
  std::set<int64_t> wrong;
  double loss = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto input = ReadInput(*model, data, i, std::nullopt);
    const at::Tensor logits = RunModel(*model, {input->input})->to(at::kDouble)[0];
    const int answer = static_cast<int>(logits.argmax(0).item<int64_t>());
    loss += (logits.exp().sum().log() - logits[data.label(i)]).item<double>();
    answer == data.label(i) ? static_cast<void>(++right) : static_cast<void>(wrong.insert(i));
  }
  EXPECT_DOUBLE_EQ(examined->confusion.Accuracy(), static_cast<double>(right) / 60);
  EXPECT_NEAR(examined->loss, loss / 60, 1e-5);
  EXPECT_EQ(examined->calibration.answers(), 60);
  std::set<int64_t> mistakes;
  double before = 1;
  for (const Answer& mistake : examined->mistakes) {
    mistakes.insert(mistake.index);
    EXPECT_LE(mistake.confidence, before) << "surest first";
    before = mistake.confidence;
    EXPECT_EQ(mistake.label, data.label(mistake.index));
    EXPECT_LT(mistake.label_probability, mistake.confidence);
  }
  EXPECT_EQ(mistakes, wrong);
  EXPECT_EQ(examined->examples, (std::vector<int64_t>{0, 1, 2})) << "one of each class";
}

TEST(Examine, IsBoundedAndDoesNotDependOnThreads) {
  const auto model = SmallModel(SmallRecipe());
  const ColouredSquares data(300, 5);
  const auto one = Examine(*model, data, {.most_images = 50, .batch = 8, .threads = 1});
  const auto three = Examine(*model, data, {.most_images = 50, .batch = 8, .threads = 3});
  EXPECT_EQ(one->images, 50);
  EXPECT_EQ(one->loss, three->loss);
  for (int label = 0; label < 3; ++label) EXPECT_GT(one->confusion.OfLabel(label), 5) << "though labels alternate";
  int64_t farthest = 0;
  for (const Answer& mistake : one->mistakes) farthest = std::max(farthest, mistake.index);
  EXPECT_GT(farthest, 150) << "spread over the whole set";
}

TEST(Examine, SkipsUnreadableImagesAndRefusesOtherClasses) {
  const auto model = SmallModel(SmallRecipe());
  EXPECT_EQ(Examine(*model, ManyClasses(30), {}).status().code(), absl::StatusCode::kInvalidArgument);
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_model_overrides()->set_classes(30);
  const auto examined = Examine(*SmallModel(recipe), ManyClasses(30), {});
  ASSERT_TRUE(examined.ok()) << examined.status();
  EXPECT_EQ(examined->images, 25);
  EXPECT_EQ(examined->unreadable, 5);
  std::atomic<bool> stop = true;
  EXPECT_TRUE(absl::IsCancelled(Examine(*model, ColouredSquares(9, 1), {.stop = &stop}).status()));
}

TEST(Spread, ChoosesOneOfEachPart) {
  EXPECT_EQ(Spread(4, 10), (std::vector<int64_t>{0, 1, 2, 3}));
  const std::vector<int64_t> some = Spread(1000, 10);
  ASSERT_EQ(some.size(), 10u);
  std::set<int64_t> places;
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(some[static_cast<size_t>(i)] / 100, i);
    places.insert(some[static_cast<size_t>(i)] % 100);
  }
  EXPECT_GT(places.size(), 5u) << "no rhythm";
}

TEST(MeanDistances, AreTheMeanOverImages) {
  const auto model = SmallModel(SmallRecipe());
  const ColouredSquares data(2, 5);
  const auto both = MeasureDistances(*model, data, std::nullopt, 2);
  ASSERT_TRUE(both.ok() && both->has_value()) << both.status();
  EXPECT_EQ((*both)->layers, 2);
  EXPECT_EQ((*both)->heads, 2);
  EXPECT_EQ((*both)->images, 2);
  ASSERT_TRUE((*both)->uniform.has_value());
  // An untrained model's attention is nearly uniform.
  for (const double pixels : (*both)->pixels) EXPECT_NEAR(pixels, *(*both)->uniform, 0.25 * *(*both)->uniform);
  const auto first = MeasureDistances(*model, data, std::nullopt, 1);
  EXPECT_NE((*first)->pixels[0], (*both)->pixels[0]);
}

TrainingReportInput InputOf(const v1::Recipe& recipe, const Model* model, const Dataset* test) {
  const ScratchFolder folder;
  Feed(0, kMadeSteps, **HistoryWriter::Open(folder.path()));
  TrainingReportInput input;
  input.recipe = recipe;
  input.history = *ReadHistory(folder.path());
  input.steps = *ReadSteps(folder.path());
  input.model = model;
  input.test = test;
  return input;
}

TEST(TrainingReport, HasEverySectionForAnImageModel) {
  const v1::Recipe recipe = SmallRecipe();
  const auto model = SmallModel(recipe);
  const ColouredSquares data(60, 5);
  TrainingReportInput input = InputOf(recipe, model.get(), &data);
  input.score = {.measures = {{"top1", 0.71234}}, .samples = 1234};
  input.provenance.set_hardware("a <machine>");
  const auto page = TrainingReport(input);
  ASSERT_TRUE(page.ok()) << page.status();
  for (const char* part : {"Training of small",
                           ">Curves</h2>",
                           "Training loss of every step",
                           "best test top1",
                           "70.59 %",
                           "71.23 %",
                           "1,234 images",
                           "Learning rate",
                           "Norm of the gradient",
                           ">Confusion</h2>",
                           "60 of 60 test images",
                           ">Calibration</h2>",
                           "Reliability",
                           ">Worst mistakes</h2>",
                           ">Attention</h2>",
                           "alt=\"layer 1, 0 to ",
                           ">Attention distance</h2>",
                           "data:image/svg+xml;base64,",
                           "Diversity of the heads: ",
                           "deviation over heads",
                           "a &lt;machine&gt;",
                           "eit34-mini-cifar10"}) {
    EXPECT_THAT(*page, HasSubstr(part));
  }
  EXPECT_THAT(
      *page, AllOf(Not(HasSubstr(">Codes</h2>")), Not(HasSubstr("src=\"http")), Not(HasSubstr("href=\"http")),
                   Not(HasSubstr("<script")), Not(HasSubstr(">nan")), Not(HasSubstr(" nan")), Not(HasSubstr("\"nan"))));
}

TEST(TrainingReport, HasTheGivenName) {
  TrainingReportInput input = InputOf(SmallRecipe(), nullptr, nullptr);
  input.name = "cats";
  EXPECT_THAT(*TrainingReport(input), HasSubstr("<title>Training of cats</title>"));
}

TEST(TrainingReport, DrawsTheNormsOfBlocks) {
  TrainingReportInput input = InputOf(SmallRecipe(), nullptr, nullptr);
  EXPECT_THAT(*TrainingReport(input), Not(HasSubstr("every block")));
  input.steps.blocks = {"blocks.0", "blocks.1"};
  for (StepRow& row : input.steps.rows) row.block_norms = {1, row.step == 1 ? 8.25 : 2};
  EXPECT_THAT(*TrainingReport(input), AllOf(HasSubstr("Norm of the gradient of every block"), HasSubstr("8.25")));
}

TEST(TrainingReport, ShowsTheCodesOfFSne) {
  const v1::Recipe recipe = CodesRecipe();
  const auto model = SmallModel(recipe);
  for (const NamedTensor& parameter : model->Parameters()) {
    if (parameter.name != "codes") continue;
    at::Tensor codes = parameter.tensor;
    codes.zero_();
    codes[0][0] = 3;
    codes[1][0] = 3;
    codes[1][1] = 4;
    codes[2][2] = 8.5;
  }
  const ColouredSquares data(6, 5);
  const auto page = TrainingReport(InputOf(recipe, model.get(), &data));
  ASSERT_TRUE(page.ok()) << page.status();
  for (const char* part : {">Codes</h2>", "C_q |3.00|", "C_k |5.00|", "C_v |8.50|", "cosine of C_q and C_k: 0.6000",
                           "cosine of C_k and C_v: 0.0000"}) {
    EXPECT_THAT(*page, HasSubstr(part));
  }
}

TEST(TrainingReport, OmitsTheMatrixOfManyClasses) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_model_overrides()->set_classes(1000);
  const auto model = SmallModel(recipe);
  const ManyClasses data(1000);
  const auto page = TrainingReport(InputOf(recipe, model.get(), &data));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, AllOf(HasSubstr("Most frequent mistakes"), HasSubstr("The 15 classes with the lowest recall"),
                           HasSubstr("143 could not be decoded"), Not(HasSubstr("of the row"))));
  EXPECT_LT(page->size(), 3u << 20);
}

TEST(TrainingReport, HasOnlyCurvesForSequenceModels) {
  v1::Recipe recipe;
  recipe.set_name("reverse");
  TrainingReportInput input = InputOf(recipe, nullptr, nullptr);
  for (HistoryRow& row : input.history.rows) row.train_accuracy = std::numeric_limits<double>::quiet_NaN();
  const auto page = TrainingReport(input);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, AllOf(HasSubstr(">Curves</h2>"), HasSubstr(">Provenance</h2>"), Not(HasSubstr("Confusion")),
                           Not(HasSubstr("training, augmented"))));
}

TEST(WriteTrainingReport, WritesTheFileOrNamesItInTheError) {
  v1::Recipe recipe;
  recipe.set_name("reverse");
  const TrainingReportInput input = InputOf(recipe, nullptr, nullptr);
  const ScratchFolder folder;
  ASSERT_TRUE(WriteTrainingReport(input, folder.path() / "report.html").ok());
  EXPECT_GT(std::filesystem::file_size(folder.path() / "report.html"), 5000u);
  EXPECT_THAT(std::string(WriteTrainingReport(input, folder.path() / "no" / "report.html").message()),
              HasSubstr("no/report.html"));
}

}  // namespace
}  // namespace vitrine
