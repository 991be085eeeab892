// SPDX-License-Identifier: Apache-2.0
// Tests the configs that ProgramOf rejects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/families/family.h"
#include "tests/models/config_text.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(ProgramOf, ErrorsNameTheField) {
  const std::string fixed = "classes: 5 preprocessing { channels: 3 fixed { height: 8 width: 8 } } ";
  const std::string native = "classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 9 } } ";
  const std::string large = "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 9 } } ";
  const std::string sizes = "width: 8 depth: 1 heads: 2 mlp_width: 8 grid_rows: 2 grid_columns: 2 } ";
  const std::string classed = "patch: 8 width: 8 depth: 1 class_depth: 1 heads: 2 mlp_width: 8 } ";
  struct Refusal {
    std::string config;
    std::string change;  // merged into the config
    std::string names;
  };
  for (const Refusal& refusal : std::vector<Refusal>{
           {fixed, "", "no family"},
           {fixed + "null {}", "classes: -1", "classes"},
           {fixed + "null {}", "preprocessing { channels: 2 }", "channels"},
           {"classes: 5 preprocessing { channels: 3 } null {}", "", "neither `fixed` nor `native`"},
           {fixed + "vit { " + sizes, "", "vit.patch"},
           {fixed + "vit { patch: 9 " + sizes, "", "less than one cell"},
           {native + "vit { patch: 8 " + sizes, "", "native.cell is 4"},
           {fixed + "vit { patch: 4 " + sizes, "vit { heads: 3 }", "multiple of config.vit.heads"},
           {fixed + "vit { patch: 4 " + sizes, "vit { width: 100000 }", "vit.width"},
           {fixed + "vit { patch: 4 " + sizes, "vit { norm: 7 }", "config.vit.norm is 7; it must be 0 to 2"},
           {fixed + "vit { patch: 4 " + sizes, "vit { norm_epsilon: -1 }", "config.vit.norm_epsilon is -1"},
           {fixed + "vit { patch: 4 " + sizes, "vit { norm_epsilon: nan }", "config.vit.norm_epsilon is nan"},
           {fixed + "vit { patch: 4 " + sizes, "vit { norm_epsilon: 0.11 }",
            "norm_epsilon is 0.11; it must be 0 to 0.1"},
           {fixed + "eit { pool: 4 " + sizes, "eit { depth: 9 }", "eit.width / eit.heads"},
           {fixed + "kv { patch: 4 " + sizes, "", "kv.attention"},
           {fixed + "kv { patch: 4 attention: KV_POS " + sizes, "", "kv.position_channels"},
           {fixed + "kv { patch: 4 attention: KV position_channels: 5 " + sizes, "", "only attention KV_POS"},
           {native + "kv { patch: 4 attention: KV " + sizes, "", "preprocessing.fixed"},
           {fixed + "kv { patch: 4 attention: KV " + sizes, "kv { grid_rows: 3 }", "grid_rows"},
           {large + "xcit { " + classed, "xcit { patch: 32 }", "xcit.patch"},
           {large + "xcit { " + classed, "xcit { width: 18 }", "xcit.width"},
           {large + "xcit { " + classed, "xcit { heads: 3 }", "multiple of config.xcit.heads"},
           {large + "xcit { " + classed, "xcit { depth: 300 }", "xcit.depth"},
           {large + "xcit { " + classed, "xcit { layer_scale: -1 }", "xcit.layer_scale"},
           {large + "xcit { " + classed, "xcit { embedding_width: 8 }", "xcit.embedding is LINEAR"},
           {large + "xcit { " + classed, "xcit { embedding: SNE }", "xcit.embedding_width"},
           {large + "xcit { " + classed, "xcit { code_length: 8 }", "only embedding F_SNE has codes"},
           {large + "xcit { " + classed, "xcit { embedding: F_SNE embedding_width: 8 }", "xcit.code_length"},
           {large + "xcit { " + classed, "xcit { embedding: P_SNE embedding_width: 8 embedding_layers: 3 }",
            "xcit.embedding_layers"},
           {large + "xvit { " + classed, "", "xvit.attention_width"},
           {large + "xvit { " + classed, "xvit { attention_width: 7 }", "multiple of config.xvit.heads"},
           {large + "xvit { " + classed, "xvit { attention_width: 8 affine_scale: nan }", "xvit.affine_scale"},
           {native + "xvit { " + classed, "xvit { attention_width: 8 }", "native.cell is 4"},
           {large + "xvit { " + classed, "xvit { attention_width: 8 mixer: SOFTMAX norm_axis: LAST }",
            "config.xvit.norm_axis is LAST, but config.xvit.mixer is SOFTMAX"},
           {large + "xvit { " + classed, "xvit { attention_width: 8 width: 18 }", "xvit.width"},
           {large + "xvit { " + classed, "xvit { attention_width: 8 stem: PATCHES patch: 300 }", "xvit.patch"},
       }) {
    v1::ModelConfig config = testing::Config(refusal.config);
    config.MergeFrom(testing::Config(refusal.change));
    const absl::Status status = ProgramOf(config).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.config;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.names)) << refusal.config;
  }
}

TEST(ProgramOf, AcceptsTheLargestEpsilon) {
  EXPECT_TRUE(ProgramOf(testing::Config("classes: 5 preprocessing { channels: 3 fixed { height: 8 width: 8 } } "
                                        "vit { patch: 4 width: 8 depth: 1 heads: 2 mlp_width: 8 grid_rows: 2 "
                                        "grid_columns: 2 norm_epsilon: 0.1 }"))
                  .ok());
}

// A size in a family's config, and its valid range.
struct Range {
  const char* field;
  int64_t least;
  int64_t most;
};

// Sets the family's field to `value` and returns the error message; "" if the config is valid.
std::string SaidOf(v1::ModelConfig config, const std::string& family, const std::string& field, int64_t value) {
  const auto* const reflection = v1::ModelConfig::GetReflection();
  google::protobuf::Message* const sizes =
      reflection->MutableMessage(&config, v1::ModelConfig::GetDescriptor()->FindFieldByName(family));
  const auto* const descriptor = sizes->GetDescriptor()->FindFieldByName(field);
  sizes->GetReflection()->SetInt32(sizes, descriptor, static_cast<int32_t>(value));
  return std::string(ProgramOf(config).status().message());
}

TEST(ProgramOf, ErrorsForSizesGiveTheirRange) {
  const std::string fixed = "classes: 5 preprocessing { channels: 3 fixed { height: 8 width: 8 } } ";
  const std::string native = "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 9 } } ";
  const std::string sizes = "width: 8 depth: 1 heads: 2 mlp_width: 8 grid_rows: 2 grid_columns: 2 } ";
  const std::string classed = "patch: 8 width: 8 depth: 1 class_depth: 1 heads: 2 mlp_width: 8 } ";
  const std::vector<Range> common = {{"depth", 1, 256}, {"heads", 1, 8}, {"mlp_width", 1, 65536}};
  const std::vector<Range> grid = {{"grid_rows", 1, 256}, {"grid_columns", 1, 256}, {"width", 1, 16384}};
  struct Case {
    std::string family;
    std::string config;
    std::vector<std::vector<Range>> ranges;
  };
  for (const Case& of : std::vector<Case>{
           {"vit", fixed + "vit { patch: 4 " + sizes, {common, grid, {{"patch", 1, 256}}}},
           {"eit", fixed + "eit { pool: 4 " + sizes, {common, grid, {{"pool", 1, 15}}}},
           {"eit_baseline", fixed + "eit_baseline { patches: LINEAR mixer: ATTENTION " + sizes, {common, grid}},
           {"kv", fixed + "kv { patch: 4 attention: KV " + sizes, {common, grid, {{"patch", 1, 256}}}},
           {"kv",
            fixed + "kv { patch: 4 attention: KV_POS position_channels: 4 " + sizes,
            {{{"position_channels", 3, 1024}}}},
           {"xcit", native + "xcit { " + classed, {common, {{"class_depth", 1, 256}, {"width", 1, 16384}}}},
           {"xcit",
            native + "xcit { embedding: F_SNE embedding_width: 8 code_length: 4 " + classed,
            {{{"embedding_width", 1, 16384}, {"code_length", 1, 16384}}}},
           {"xvit",
            native + "xvit { attention_width: 8 " + classed,
            {common, {{"class_depth", 1, 256}, {"width", 1, 16384}, {"attention_width", 1, 16384}}}},
       }) {
    const v1::ModelConfig config = testing::Config(of.config);
    ASSERT_TRUE(ProgramOf(config).ok()) << of.config << ProgramOf(config).status();
    for (const std::vector<Range>& ranges : of.ranges) {
      for (const Range& range : ranges) {
        const std::string must = absl::StrCat("; it must be ", range.least, " to ", range.most);
        for (const int64_t value : {range.least - 1, range.most + 1}) {
          EXPECT_EQ(SaidOf(config, of.family, range.field, value),
                    absl::StrCat("config.", of.family, ".", range.field, " is ", value, must));
        }
        EXPECT_THAT(SaidOf(config, of.family, range.field, range.least), ::testing::Not(HasSubstr(must)))
            << range.field;
      }
    }
  }
}

}  // namespace
}  // namespace vitrine
