// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/small_forms.h"

#include <google/protobuf/text_format.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

const char kEit[] = "eit { width: 20 depth: 3 heads: 4 mlp_width: 48 grid_rows: 3 grid_columns: 4 ";
const char kBaseline[] = "eit_baseline { width: 20 depth: 2 heads: 4 mlp_width: 48 ";
const char kXcit[] = "xcit { patch: 16 width: 32 depth: 2 class_depth: 2 heads: 4 mlp_width: 48 ";
const char kXVit[] = "xvit { patch: 16 width: 32 depth: 2 class_depth: 1 heads: 4 attention_width: 16 mlp_width: 48 ";

struct Case {
  const char* name;
  int cell;
  std::string family;
  int height, width;  // size of an image in pixels
};

std::vector<Case> Cases() {
  const std::string vit = "vit { patch: 4 width: 24 depth: 2 heads: 3 mlp_width: 40 grid_rows: 3 grid_columns: 4 ";
  return {
      {"vit", 4, vit + "}", 12, 16},
      {"vit_post", 4, vit + "norm: POST }", 12, 16},
      {"vit_other_grid", 4, vit + "}", 20, 8},
      {"eit", 4, kEit + std::string("pool: 4 }"), 12, 16},
      {"eit_pool3", 3, kEit + std::string("pool: 3 }"), 9, 12},
      {"eit_pool1", 1, kEit + std::string("pool: 1 }"), 6, 5},
      {"eit_increasing", 4, kEit + std::string("pool: 4 schedule: INCREASING }"), 12, 16},
      {"eit_invariant", 4, kEit + std::string("pool: 4 schedule: INVARIANT }"), 12, 16},
      {"eit_without_positions", 4, "eit { width: 20 depth: 3 heads: 4 mlp_width: 48 pool: 4 positions: false }", 12,
       16},
      {"eit_linear_patches", 4, kEit + std::string("pool: 4 conv_projection: false }"), 12, 16},
      {"eit_attention_only", 4, kEit + std::string("pool: 4 conv_channels: false }"), 12, 16},
      {"eit_three_convolutions", 4, kEit + std::string("pool: 4 convolution: CONV_CONV }"), 12, 16},
      {"eit_gelu", 4, kEit + std::string("pool: 4 convolution: GELU_CONV }"), 12, 16},
      {"eit_batch_norm", 4, kEit + std::string("pool: 4 convolution: BN_RELU }"), 12, 16},
      {"eit_parallel", 4, kEit + std::string("pool: 4 conv_channels: false parallel_convolution: true }"), 12, 16},
      {"baseline_lsra", 4, kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: LINEAR mixer: LSRA }"), 12,
       16},
      {"baseline_cvt_p", 2,
       kBaseline + std::string("grid_rows: 6 grid_columns: 8 patches: OVERLAPPING mixer: ATTENTION }"), 12, 16},
      {"baseline_cvt_t", 4,
       kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: LINEAR mixer: CONVOLVED_QKV }"), 12, 16},
      {"baseline_vit_c", 4, kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: STEM mixer: ATTENTION }"),
       12, 16},
      {"xcit", 16, kXcit + std::string("}"), 48, 64},
      {"xcit_patch8", 8, "xcit { patch: 8 width: 32 depth: 2 class_depth: 1 heads: 4 mlp_width: 48 }", 24, 32},
      {"xcit_tokens_norm", 16, kXcit + std::string("tokens_norm: true }"), 48, 64},
      {"xcit_sne", 16, kXcit + std::string("embedding: SNE embedding_width: 20 embedding_layers: 3 }"), 48, 64},
      {"xcit_p_sne", 16, kXcit + std::string("embedding: P_SNE embedding_width: 20 }"), 48, 64},
      {"xcit_f_sne", 16, kXcit + std::string("embedding: F_SNE embedding_width: 20 code_length: 5 }"), 48, 64},
      {"xcit_f_sne_codes_per_block", 16,
       kXcit + std::string("embedding: F_SNE embedding_width: 20 code_length: 5 codes_per_block: true }"), 48, 64},
      {"xvit", 16, kXVit + std::string("}"), 48, 64},
      {"xvit_last_axis", 16, kXVit + std::string("norm_axis: LAST }"), 48, 64},
      {"xvit_softmax", 16, kXVit + std::string("mixer: SOFTMAX }"), 48, 64},
      {"xvit_xca", 16, kXVit + std::string("mixer: XCA }"), 48, 64},
      {"xvit_no_norm", 16, kXVit + std::string("mixer: NONE }"), 48, 64},
      {"xvit_depthwise", 16, kXVit + std::string("local: DEPTHWISE }"), 48, 64},
      {"xvit_patches", 16, kXVit + std::string("stem: PATCHES }"), 48, 64},
  };
}

v1::ModelConfig Config(const std::string& text) {
  v1::ModelConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text, &config)) std::abort();  // the table above has a bug
  return config;
}

std::vector<SmallForm> FormsOf(const std::vector<Case>& cases) {
  std::vector<SmallForm> forms;
  for (const Case& each : cases) {
    const std::string input = absl::StrCat("classes: 7 preprocessing { channels: 3 native { cell: ", each.cell,
                                           " min_tokens: 1 max_tokens: 99 } } ");
    forms.push_back({each.name, Config(input + each.family), each.height, each.width});
  }
  return forms;
}

}  // namespace

std::vector<SmallForm> SmallForms() {
  return FormsOf(Cases());
}

std::vector<SmallForm> SmallPrefixForms() {
  const std::string vit = "vit { patch: 4 width: 24 depth: 2 heads: 3 mlp_width: 40 grid_rows: 3 grid_columns: 4 ";
  return FormsOf({
      {"vit_distilled", 4, vit + "distilled: true }", 12, 16},
      {"vit_registers", 4, vit + "registers: 3 layer_scale: 0.5 position_resize: BICUBIC_SHARP }", 12, 16},
      {"vit_registers_without_positions", 4, vit + "registers: 2 prefix_positions: NO_TOKEN }", 20, 8},
      {"vit_clip", 4, vit + "input_norm: true activation: QUICK_GELU projection: 20 }", 12, 16},
      {"vit_cosine_head", 4, vit + "input_norm: true projection: 20 cosine_head: true }", 20, 8},
      {"vit_offset_positions", 4, vit + "registers: 1 position_resize: BICUBIC_OFFSET }", 20, 8},
  });
}

std::vector<SmallForm> SmallKvForms() {
  std::vector<SmallForm> forms;
  for (const char* name :
       {"kv-mnist-p7-d64-l2", "kv-pos-mnist-p7-d64-l2", "qkv-mnist-p7-d64-l2", "kv-pos-cifar10-p4-d64-l2"}) {
    const v1::ModelConfig config = FindVariant(name)->config;
    const v1::FixedResolution& size = config.preprocessing().fixed();
    forms.push_back({name, config, size.height(), size.width()});
  }
  forms.push_back(forms.front());
  forms.back().name = "kv_head_width";
  forms.back().config.mutable_kv()->set_score_scale(v1::KvConfig::HEAD_WIDTH);
  return forms;
}

}  // namespace vitrine
