// SPDX-License-Identifier: Apache-2.0
// Compares figures of the papers (models/workload/conventions.h) with counts from the lists of operators.
// workload_published_test compares every model of the zoo with an independent description.
#include "models/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "models/families/family.h"
#include "models/workload/conventions.h"
#include "models/workload/review.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

Workload Published(const v1::ModelConfig& config, int side) {
  const absl::StatusOr<Workload> workload = WorkloadOf(config, {side, side}, Form::kPublished);
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.ok() ? *workload : Workload();
}

// --- paper 000

TEST(XcitWorkload, TheExecutedFormIsFactored) {
  const v1::ModelConfig coded = FindVariant("xcit-n12-f-sne-8")->config;
  // Replaces the cost of the published embedding by the cost of its factored form. All other costs stay as published.
  const int64_t factored = Macs(Published(coded, 224)) - 12 * (196 * 3 * (136 * 128 + 128 * 128)) +
                           12 * (196 * (128 * 128 + 3 * 128 * 128) + 3 * 8 * 128);
  // The only other difference is that the executed form omits the queries of patches in the two class-attention blocks.
  EXPECT_EQ(factored - Macs(*WorkloadOf(coded, {224, 224}, Form::kExecuted)), 2 * 196 * 128 * 128);
}

// --- paper 002

// Replaces parts of X-ViT by parts of other papers. The costs must follow those papers' formulas, for N = 196 and n =
// 197 tokens, d = 192, e = 96 and d_h = 24. XCiT's class attention, in its published form, computes the queries of all
// tokens.
TEST(XVitWorkload, MultiplyAddsEqualThePapersFormulas) {
  const auto macs = [](const char* name) { return Macs(Published(FindVariant(name)->config, 224)); };
  const int64_t whole = macs("xvit-t");
  const int64_t linear_class = 2 * (197 * 96 * 24 + 96 * 24), softmax_class = 2 * (2 * 197 * 96 + 196 * 192 * 96);
  EXPECT_EQ(macs("xvit-t-no-norm"), whole);
  EXPECT_EQ(macs("xvit-t-xca"), whole - linear_class + softmax_class);
  EXPECT_EQ(macs("xvit-t-softmax"),
            whole + 24 * (2 * 196 * 196 * 96 - 2 * 196 * 96 * 24) - linear_class + softmax_class);
  EXPECT_EQ(macs("xvit-t-depthwise"), whole - 24 * 196 * 192 * 9);
  const int64_t stem = 112 * 112 * 9 * 3 * 24 + 56 * 56 * 9 * 24 * 48 + 28 * 28 * 9 * 48 * 96 + 196 * 9 * 96 * 192;
  EXPECT_EQ(macs("xvit-t-patches"), whole - stem + 196 * 768 * 192);
}

// --- paper 003

TEST(Review, CorrectedTablesOfVitBaseAreReproduced) {
  struct Row {
    const char* name;
    int64_t flops, bytes;
    double intensity;
  };
  const Row kRows[] = {
      {"LN", 903'168, 1'204'224, 0.750},
      {"Q proj", 231'211'008, 3'563'520, 64.883},
      {"K proj", 231'211'008, 3'563'520, 64.883},
      {"V proj", 231'211'008, 3'563'520, 64.883},
      {"QK matmul", 59'006'976, 3'048'192, 19.358},
      {"scaling", 460'992, 3'687'936, 0.125},
      {"softmax", 1'382'976, 3'687'936, 0.375},
      {"SV matmul", 59'006'976, 3'048'192, 19.358},
      {"O proj", 231'211'008, 3'563'520, 64.883},
      {"Add", 150'528, 1'806'336, 0.083},
      {"LN", 903'168, 1'204'224, 0.750},
      {"FC1", 924'844'032, 12'447'744, 74.298},
      {"GELU", 602'112, 4'816'896, 0.125},
      {"FC2", 924'844'032, 12'447'744, 74.298},
      {"Add", 150'528, 1'806'336, 0.083},
      {"classifier", 1'536'000, 3'079'072, 0.499},
  };
  const std::vector<ReviewOperator> tables = ReviewTables({});
  ASSERT_EQ(tables.size(), std::size(kRows));
  double layer = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i].name, kRows[i].name);
    EXPECT_EQ(tables[i].corrected.flops, static_cast<double>(kRows[i].flops)) << kRows[i].name;
    EXPECT_EQ(tables[i].corrected.bytes, static_cast<double>(kRows[i].bytes)) << kRows[i].name;
    EXPECT_NEAR(tables[i].corrected.intensity, kRows[i].intensity, 0.0005) << kRows[i].name;
    if (tables[i].table < 5) layer += tables[i].corrected.flops;
  }
  EXPECT_EQ(layer, 2'897'099'520);
  EXPECT_EQ(12 * layer + 1'536'000, 34'766'730'240);
  EXPECT_EQ(12 * layer + 1'536'000 + 231'211'008, 34'997'941'248);
}

// A row of ReviewTables must state errors if and only if the printed and the corrected formula differ. The test uses
// sizes that reveal a missing factor. A corrected intensity is FLOPs / bytes.
TEST(Review, ErrorsAreListedWherePrintAndCorrectionDiffer) {
  for (const ReviewOperator& row : ReviewTables({.batch = 8, .tokens = 197})) {
    const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * b; };
    EXPECT_TRUE(same(row.corrected.flops / row.corrected.bytes, row.corrected.intensity)) << row.name;
    const bool right = same(row.printed.flops, row.corrected.flops) && same(row.printed.bytes, row.corrected.bytes) &&
                       same(row.printed.intensity, row.corrected.intensity);
    EXPECT_EQ(right, row.errors.empty()) << row.name;
  }
}

TEST(Review, ThePublishedOperatorsGiveTheCorrectedTotals) {
  const Workload workload = Published(FindVariant("vit-b16")->config, 224);
  EXPECT_EQ(Flops003(workload), 35'182'690'368);
  Workload layer;
  for (const Operator& op : workload) {
    if (op.name.starts_with("blocks.0.")) layer.push_back(op);
  }
  EXPECT_EQ(Flops003(layer), 2'912'495'280);
}

// --- all

TEST(Workload, ParametersEqualThoseOfTheWholeZoo) {
  for (const ZooRow& row : Zoo()) {
    const WorkloadInput input = DefaultInput(row.config);
    for (const Form form : {Form::kPublished, Form::kExecuted}) {
      const absl::StatusOr<Workload> workload = WorkloadOf(row.config, input, form);
      ASSERT_TRUE(workload.ok()) << row.name << ": " << workload.status();
      EXPECT_EQ(Parameters(*workload), row.parameters) << row.name;
    }
  }
}

TEST(Workload, EveryImageCostsTheSame) {
  for (const char* name : {"vit-ti16", "eit34-mini-cifar10", "kv-mnist-p7-d64-l2"}) {
    const v1::ModelConfig config = FindVariant(name)->config;
    WorkloadInput input = DefaultInput(config);
    const int64_t one = Macs(*WorkloadOf(config, input, Form::kPublished));
    input.images = 7;
    EXPECT_EQ(Macs(*WorkloadOf(config, input, Form::kPublished)), 7 * one) << name;
  }
}

TEST(Workload, NamesAreUniqueAndTrafficIsCounted) {
  const v1::ModelConfig config = FindVariant("eit34-mini-cifar10")->config;
  std::set<std::string> names;
  const Workload workload = WorkloadOf(config, DefaultInput(config)).value();
  for (const Operator& op : workload) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_GT(op.bytes_read, 0) << op.name;
    EXPECT_GT(op.bytes_written, 0) << op.name;
    EXPECT_FALSE(ShapeInWords(op).empty());
    EXPECT_FALSE(KindName(op.kind).empty());
  }
}

// Queries, keys and values: 3 heads of 64 values over 197 tokens, each read once.
TEST(Workload, AttentionReadsQueriesKeysAndValues) {
  const v1::ModelConfig config = FindVariant("vit-ti16")->config;
  const Workload workload = WorkloadOf(config, {224, 224}, Form::kExecuted).value();
  int attentions = 0;
  for (const Operator& op : workload) {
    if (op.kind != OperatorKind::kAttention) continue;
    ++attentions;
    EXPECT_EQ(op.bytes_read, 4 * 3 * 3 * 197 * 64) << op.name;
    EXPECT_EQ(op.bytes_written, 4 * 3 * 197 * 64) << op.name;
  }
  EXPECT_EQ(attentions, 12);
}

TEST(Workload, OperatorNamesAreUnique) {
  for (const SmallForm& form : SmallForms()) {
    for (const Form of : {Form::kPublished, Form::kExecuted}) {
      std::set<std::string> names;
      const Workload workload = WorkloadOf(form.config, {form.height, form.width}, of).value();
      for (const Operator& op : workload) {
        EXPECT_TRUE(names.insert(op.name).second) << form.name << ": " << op.name;
      }
    }
  }
}

TEST(Workload, RefusesConfigsWithoutACost) {
  EXPECT_THAT(WorkloadOf({}, {224, 224}).status().ToString(), HasSubstr("names no family"));
  EXPECT_THAT(WorkloadOf(FindVariant("vit-ti16")->config, {8, 224}).status().ToString(), HasSubstr("8x224"));
}

}  // namespace
}  // namespace vitrine
