// SPDX-License-Identifier: Apache-2.0
// What a config must not say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/families/family.h"
#include "tests/models/config_text.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(ProgramOf, RefusalsNameTheField) {
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
       }) {
    v1::ModelConfig config = testing::Config(refusal.config);
    config.MergeFrom(testing::Config(refusal.change));
    const absl::Status status = ProgramOf(config).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.config;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.names)) << refusal.config;
  }
}

}  // namespace
}  // namespace vitrine
