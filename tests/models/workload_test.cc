// SPDX-License-Identifier: Apache-2.0
// Compares the papers' figures with counts from the lists of operators.
#include "models/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "models/families/family.h"
#include "models/workload/conventions.h"
#include "models/workload/review.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"
#include "tests/models/config_text.h"

namespace vitrine {
namespace {

using testing::Config;
using ::testing::HasSubstr;

constexpr char kImageNet[] = "classes: 1000 preprocessing { channels: 3 fixed { height: 224 width: 224 } } ";
constexpr char kCifar[] = "classes: 10 preprocessing { channels: 3 fixed { height: 32 width: 32 } } ";

Workload Published(const v1::ModelConfig& config, int side) {
  const absl::StatusOr<Workload> workload = WorkloadOf(config, {side, side}, Form::kPublished);
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.ok() ? *workload : Workload();
}

// Formats `value` in units of 10^9, rounded half up to as many decimals as `figure` has.
std::string Giga(int64_t value, const std::string& figure) {
  const int decimals = static_cast<int>(figure.size() - figure.find('.') - 1);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals,
                std::floor(static_cast<double>(value) / 1e9 * std::pow(10, decimals) + 0.5) / std::pow(10, decimals));
  return text;
}

// --- paper 000

v1::ModelConfig Xcit(int width, const std::string& embedding) {
  return Config(kImageNet + ("xcit { patch: 16 width: " + std::to_string(width)) +
                " depth: 12 class_depth: 2 heads: 4 mlp_width: " + std::to_string(4 * width) +
                (width == 192 ? " tokens_norm: true " : " ") + embedding + " }");
}

struct XcitRow {
  int width;
  std::string embedding;
  int64_t parameters;
};
const XcitRow kXcitRows[] = {
    {128, "", 3'053'224},
    {128, "embedding: SNE embedding_width: 64", 3'055'528},
    {128, "embedding: P_SNE embedding_width: 96", 3'053'608},
    {128, "embedding: F_SNE embedding_width: 128 code_length: 8", 2'867'392},
    {128, "embedding: F_SNE embedding_width: 186 code_length: 8", 3'051'832},
    {128, "embedding: F_SNE embedding_width: 128 code_length: 16", 2'879'704},
    {128, "embedding: F_SNE embedding_width: 182 code_length: 16", 3'056'608},
    {128, "embedding: F_SNE embedding_width: 128 code_length: 32", 2'904'328},
    {128, "embedding: F_SNE embedding_width: 128 code_length: 64", 2'953'576},
    {128, "embedding: SNE embedding_width: 64 embedding_layers: 3", 3'205'288},
    {128, "embedding: SNE embedding_width: 64 embedding_layers: 4", 3'355'048},
    {128, "embedding: F_SNE embedding_width: 186 code_length: 8 codes_per_block: true", 3'052'096},
    {192, "", 6'716'272},
    {192, "embedding: SNE embedding_width: 96", 6'719'728},
    {192, "embedding: P_SNE embedding_width: 144", 6'716'848},
    {192, "embedding: F_SNE embedding_width: 192 code_length: 8", 6'290'056},
    {192, "embedding: F_SNE embedding_width: 282 code_length: 8", 6'714'496},
    {192, "embedding: F_SNE embedding_width: 192 code_length: 16", 6'308'512},
    {192, "embedding: F_SNE embedding_width: 276 code_length: 16", 6'712'720},
    {192, "embedding: F_SNE embedding_width: 192 code_length: 32", 6'345'424},
    {192, "embedding: F_SNE embedding_width: 192 code_length: 64", 6'419'248},
};

TEST(XcitWorkload, OperatorsOwnAllParameters) {
  for (const XcitRow& row : kXcitRows) {
    for (const Form form : {Form::kPublished, Form::kExecuted}) {
      EXPECT_EQ(Parameters(*WorkloadOf(Xcit(row.width, row.embedding), {224, 224}, form)), row.parameters)
          << row.width << " " << row.embedding;
    }
  }
}

TEST(XcitWorkload, MultiplyAdds) {
  EXPECT_EQ(Giga(Macs(Published(Xcit(128, ""), 224)), "0.557"), "0.557");
  const v1::ModelConfig coded = Xcit(128, "embedding: F_SNE embedding_width: 128 code_length: 8");
  const int64_t direct = Macs(Published(coded, 224));
  EXPECT_EQ(Giga(direct, "0.680"), "0.680");
  // The embedding is counted as factored, everything else as published.
  const int64_t factored =
      direct - 12 * (196 * 3 * (136 * 128 + 128 * 128)) + 12 * (196 * (128 * 128 + 3 * 128 * 128) + 3 * 8 * 128);
  EXPECT_EQ(Giga(factored, "0.596"), "0.596");
  // The executed form also omits the queries of patches in the two class-attention blocks, and nothing else.
  const int64_t executed = Macs(*WorkloadOf(coded, {224, 224}, Form::kExecuted));
  EXPECT_EQ(factored - executed, 2 * 196 * 128 * 128);
}

TEST(XcitWorkload, SmallerPatchesHaveThreeConvolutions) {
  v1::ModelConfig config = Xcit(128, "");
  config.mutable_xcit()->set_patch(8);
  const absl::StatusOr<program::Program> program = ProgramOf(config);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Parameters(Published(config, 224)), program->parameters());
}

// --- paper 001

struct EitRow {
  std::string config;
  int64_t parameters;
  std::string flops;    // 10^9; five decimals, from the specification
  std::string printed;  // figure in the paper; empty if it prints none
};

std::string Eit(int width, int depth, int heads, int pool, const std::string& more) {
  const std::string side = std::to_string(32 / pool);
  const bool has_table = more.find("positions: false") == std::string::npos;
  return "eit { width: " + std::to_string(width) + " depth: " + std::to_string(depth) +
         " heads: " + std::to_string(heads) + " mlp_width: " + std::to_string(4 * width) +
         " pool: " + std::to_string(pool) + (has_table ? " grid_rows: " + side + " grid_columns: " + side : "") + " " +
         more + " }";
}
std::string Mini(const std::string& more) {
  return Eit(250, 5, 10, 4, more);
}
std::string Baseline(int depth, int side, const std::string& more) {
  return "eit_baseline { width: 250 depth: " + std::to_string(depth) +
         " heads: 10 mlp_width: 1000 grid_rows: " + std::to_string(side) + " grid_columns: " + std::to_string(side) +
         " " + more + " }";
}

const EitRow kEitRows[] = {
    {Baseline(5, 8, "patches: LINEAR mixer: ATTENTION"), 3'798'010, "0.51452", "0.515"},
    {Baseline(5, 8, "patches: LINEAR mixer: LSRA"), 3'679'060, "0.48680", "0.487"},
    {Baseline(5, 16, "patches: OVERLAPPING mixer: ATTENTION"), 3'846'010, "2.29592", "2.296"},
    {Baseline(5, 8, "patches: LINEAR mixer: CONVOLVED_QKV"), 14'110'510, "1.83827", "1.838"},
    {Baseline(5, 16, "patches: OVERLAPPING mixer: CONVOLVED_QKV"), 14'158'510, "7.57967", "7.580"},
    {Baseline(4, 8, "patches: STEM mixer: ATTENTION"), 4'107'760, "0.55257", "0.553"},
    {Mini("conv_channels: false"), 3'792'760, "0.52707", "0.527"},
    {Mini("conv_projection: false"), 3'771'010, "0.50147", "0.501"},
    {Mini(""), 3'765'760, "0.51402", "0.514"},
    {Eit(250, 5, 10, 3, ""), 3'774'760, "0.80361", "0.804"},
    {Eit(330, 8, 10, 4, ""), 10'589'650, "1.41533", "1.415"},
    {Eit(330, 8, 10, 3, ""), 10'601'530, "2.21417", "2.214"},
    {Eit(400, 10, 16, 4, ""), 19'539'210, "2.59300", "2.593"},
    {Eit(400, 10, 16, 3, ""), 19'553'610, "4.05620", "4.056"},
    {Mini("conv_channels: false parallel_convolution: true positions: false"), 6'589'010, "0.88713", "0.887"},
    {Mini("convolution: CONV_CONV"), 5'115'760, "0.68682", "0.687"},
    {Mini("convolution: GELU_CONV"), 3'841'260, "0.52374", "0.524"},
    {Mini("convolution: BN_RELU"), 3'766'760, "0.51402", "0.514"},
    {Mini("schedule: INCREASING"), 3'765'760, "0.51402", ""},
    {Mini("schedule: INVARIANT"), 3'629'480, "0.49610", ""},
    {Mini("positions: false"), 3'749'510, "", ""},
};

TEST(EitWorkload, OperatorsOwnAllParameters) {
  for (const EitRow& row : kEitRows) {
    for (const Form form : {Form::kPublished, Form::kExecuted}) {
      EXPECT_EQ(Parameters(*WorkloadOf(Config(kCifar + row.config), {32, 32}, form)), row.parameters) << row.config;
    }
  }
}

TEST(EitWorkload, FlopsInThePapersConvention) {
  for (const EitRow& row : kEitRows) {
    const int64_t flops = Flops001(Published(Config(kCifar + row.config), 32));
    for (const std::string& figure : {row.flops, row.printed}) {
      if (figure.empty()) continue;
      EXPECT_EQ(Giga(flops, figure), figure) << row.config;
    }
  }
}

TEST(EitWorkload, MultiplyAddsAlone) {
  EXPECT_EQ(Giga(Macs(Published(Config(kCifar + Mini("")), 32)), "0.2547"), "0.2547");
  EXPECT_EQ(Giga(Macs(Published(Config(kCifar + Eit(330, 8, 10, 4, "")), 32)), "0.7033"), "0.7033");
  EXPECT_EQ(Giga(Macs(Published(Config(kCifar + Eit(400, 10, 16, 4, "")), 32)), "1.2895"), "1.2895");
}

// --- paper 002

struct XVitRow {
  int width, depth, heads, attention_width;
  int64_t parameters;
  std::string macs224, printed224, macs384, printed384;
};
const XVitRow kXVitRows[] = {
    {192, 24, 4, 96, 10'207'184, "1.8964", "1.9", "5.57", ""},
    {384, 12, 8, 128, 20'753'016, "3.7166", "3.7", "10.92", ""},
    {384, 24, 8, 128, 37'457'208, "6.9794", "7.0", "20.5048", "20.5"},
    {512, 24, 8, 128, 63'957'704, "11.9399", "11.9", "35.0785", "35.1"},
};

TEST(XVitWorkload, ParametersAndMultiplyAdds) {
  for (const XVitRow& row : kXVitRows) {
    const v1::ModelConfig config =
        Config(kImageNet + ("xvit { patch: 16 width: " + std::to_string(row.width)) +
               " depth: " + std::to_string(row.depth) + " class_depth: 2 heads: " + std::to_string(row.heads) +
               " attention_width: " + std::to_string(row.attention_width) +
               " mlp_width: " + std::to_string(4 * row.width) + " }");
    EXPECT_EQ(Parameters(Published(config, 224)), row.parameters);
    EXPECT_EQ(Parameters(*WorkloadOf(config, {224, 224}, Form::kExecuted)), row.parameters);
    for (const std::string& figure : {row.macs224, row.printed224}) {
      EXPECT_EQ(Giga(Macs(Published(config, 224)), figure), figure);
    }
    for (const std::string& figure : {row.macs384, row.printed384}) {
      if (figure.empty()) continue;
      EXPECT_EQ(Giga(Macs(Published(config, 384)), figure), figure);
    }
  }
}

// The other parts cost what the formulas of their papers say, for N = 196 and n = 197 tokens, d = 192, e = 96 and
// d_h = 24. XCiT's class attention, in its published form, computes the queries of all tokens.
TEST(XVitWorkload, MultiplyAddsOfOtherParts) {
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

TEST(VitWorkload, MultiplyAddsOfEverySize) {
  const std::pair<const char*, std::string> kFigures[] = {
      {"vit-ti16", "1.254"}, {"vit-s16", "4.599"},  {"vit-b16", "17.564"},  {"vit-b32", "4.409"},
      {"vit-l16", "61.555"}, {"vit-l32", "15.378"}, {"vit-h14", "167.295"},
  };
  for (const auto& [name, figure] : kFigures) {
    EXPECT_EQ(Giga(Macs(Published(FindVariant(name)->config, 224)), figure), figure) << name;
  }
}

TEST(Review, CorrectedTablesOfVitBase) {
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

// A row states errors if and only if print and correction differ, at sizes that reveal a missing factor. A corrected
// intensity is FLOPs / bytes.
TEST(Review, ErrorsAreWherePrintAndCorrectionDiffer) {
  for (const ReviewOperator& row : ReviewTables({.batch = 8, .tokens = 197})) {
    const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * b; };
    EXPECT_TRUE(same(row.corrected.flops / row.corrected.bytes, row.corrected.intensity)) << row.name;
    const bool right = same(row.printed.flops, row.corrected.flops) && same(row.printed.bytes, row.corrected.bytes) &&
                       same(row.printed.intensity, row.corrected.intensity);
    EXPECT_EQ(right, row.errors.empty()) << row.name;
  }
}

TEST(Review, ThePublishedListGivesTheSameTotalsWithTheClassToken) {
  const Workload workload = Published(FindVariant("vit-b16")->config, 224);
  EXPECT_EQ(Flops003(workload), 35'182'690'368);
  Workload layer;
  for (const Operator& op : workload) {
    if (op.name.starts_with("blocks.0.")) layer.push_back(op);
  }
  EXPECT_EQ(Flops003(layer), 2'912'495'280);
}

// --- all

TEST(Workload, ParametersOfTheWholeZoo) {
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

TEST(Workload, NoNameIsGivenTwice) {
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

TEST(Workload, RefusesWhatHasNoCost) {
  EXPECT_THAT(WorkloadOf({}, {224, 224}).status().ToString(), HasSubstr("names no family"));
  EXPECT_THAT(WorkloadOf(FindVariant("vit-ti16")->config, {8, 224}).status().ToString(), HasSubstr("8x224"));
}

}  // namespace
}  // namespace vitrine
