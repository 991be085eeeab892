// SPDX-License-Identifier: Apache-2.0
#include "models/repository/foreign/import_names.h"

#include <algorithm>

#include "absl/strings/str_replace.h"

namespace vitrine {
namespace {

// If both names end with "*", the row stands for two rules: "*" means "weight" in the first and "bias" in the second.
struct NameRow {
  std::string_view foreign, ours;
  Reshape reshape = Reshape::kSame;
  Repeat repeat = Repeat::kOnce;
};

using enum Reshape;
using enum Repeat;

// clang-format off
// timm/models/vision_transformer.py and deit.py
constexpr NameRow kTimmVit[] = {
    {"cls_token", "class_token", kOneLess},
    {"pos_embed", "positions.table", kOneLess},
    {"patch_embed.proj.weight", "patches.proj.weight", kPatchRows},
    {"patch_embed.proj.bias", "patches.proj.bias"},
    {"blocks.#.norm1.*", "blocks.#.norm.*", kSame, kBlocks},
    {"blocks.#.attn.qkv.*", "blocks.#.attention.qkv.*", kSame, kBlocks},
    {"blocks.#.attn.proj.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"blocks.#.norm2.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"blocks.#.mlp.fc1.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"blocks.#.mlp.fc2.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"norm.*", "norm.*"},
    {"head.*", "head.*"},
};

// timm/models/xcit.py. timm's stem is a sequence of (convolution, BatchNorm), GELU, (convolution, BatchNorm), ...: the
// pairs have the indices 0, 2, 4, ..., which "@" stands for.
constexpr NameRow kTimmXcit[] = {
    {"cls_token", "class_token", kOneLess},
    {"patch_embed.proj.@.0.weight", "stem.convolutions.#.weight", kSame, kStem},
    {"patch_embed.proj.@.1.*", "stem.norms.#.*", kSame, kStem},
    {"patch_embed.proj.@.1.running_mean", "stem.norms.#.running_mean", kSame, kStem},
    {"patch_embed.proj.@.1.running_var", "stem.norms.#.running_var", kSame, kStem},
    {"pos_embed.token_projection.weight", "positions.projection.weight", kMatrix},
    {"pos_embed.token_projection.bias", "positions.projection.bias"},
    {"blocks.#.gamma1", "blocks.#.attention_scale", kSame, kBlocks},
    {"blocks.#.gamma2", "blocks.#.feed_forward_scale", kSame, kBlocks},
    {"blocks.#.gamma3", "blocks.#.local_scale", kSame, kBlocks},
    {"blocks.#.norm1.*", "blocks.#.norm.*", kSame, kBlocks},
    {"blocks.#.attn.temperature", "blocks.#.attention.temperature", kSame, kBlocks},
    {"blocks.#.attn.qkv.*", "blocks.#.attention.qkv.*", kSame, kBlocks},
    {"blocks.#.attn.proj.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"blocks.#.norm3.*", "blocks.#.local.norm.*", kSame, kBlocks},
    {"blocks.#.local_mp.conv1.*", "blocks.#.local.convolutions.0.*", kSame, kBlocks},
    {"blocks.#.local_mp.bn.*", "blocks.#.local.batch_norm.*", kSame, kBlocks},
    {"blocks.#.local_mp.bn.running_mean", "blocks.#.local.batch_norm.running_mean", kSame, kBlocks},
    {"blocks.#.local_mp.bn.running_var", "blocks.#.local.batch_norm.running_var", kSame, kBlocks},
    {"blocks.#.local_mp.conv2.*", "blocks.#.local.convolutions.1.*", kSame, kBlocks},
    {"blocks.#.norm2.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"blocks.#.mlp.fc1.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"blocks.#.mlp.fc2.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"cls_attn_blocks.#.gamma1", "class_blocks.#.attention_scale", kSame, kClassBlocks},
    {"cls_attn_blocks.#.gamma2", "class_blocks.#.feed_forward_scale", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm1.*", "class_blocks.#.norm.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.q.*", "class_blocks.#.attention.q.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.k.*", "class_blocks.#.attention.k.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.v.*", "class_blocks.#.attention.v.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.proj.*", "class_blocks.#.attention.proj.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm2.*", "class_blocks.#.feed_forward.norm.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc1.*", "class_blocks.#.feed_forward.fc1.*", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc2.*", "class_blocks.#.feed_forward.fc2.*", kSame, kClassBlocks},
    {"norm.*", "norm.*"},
    {"head.*", "head.*"},
};

// transformers' modeling_vit.py, ViTForImageClassification
constexpr NameRow kHuggingFaceVit[] = {
    {"vit.embeddings.cls_token", "class_token", kOneLess},
    {"vit.embeddings.position_embeddings", "positions.table", kOneLess},
    {"vit.embeddings.patch_embeddings.projection.weight", "patches.proj.weight", kPatchRows},
    {"vit.embeddings.patch_embeddings.projection.bias", "patches.proj.bias"},
    {"vit.encoder.layer.#.layernorm_before.*", "blocks.#.norm.*", kSame, kBlocks},
    {"vit.encoder.layer.#.attention.attention.{query|key|value}.*", "blocks.#.attention.qkv.*", kStackedQkv, kBlocks},
    {"vit.encoder.layer.#.attention.output.dense.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"vit.encoder.layer.#.layernorm_after.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"vit.encoder.layer.#.intermediate.dense.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"vit.encoder.layer.#.output.dense.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"vit.layernorm.*", "norm.*"},
    {"classifier.*", "head.*"},
};

// Names that the state_dict() has in newer 5.x releases of transformers. In these releases, save_pretrained still
// writes the names of kHuggingFaceVit.
constexpr NameRow kTransformers5Vit[] = {
    {"vit.embeddings.cls_token", "class_token", kOneLess},
    {"vit.embeddings.position_embeddings", "positions.table", kOneLess},
    {"vit.embeddings.patch_embeddings.projection.weight", "patches.proj.weight", kPatchRows},
    {"vit.embeddings.patch_embeddings.projection.bias", "patches.proj.bias"},
    {"vit.layers.#.layernorm_before.*", "blocks.#.norm.*", kSame, kBlocks},
    {"vit.layers.#.attention.{q|k|v}_proj.*", "blocks.#.attention.qkv.*", kStackedQkv, kBlocks},
    {"vit.layers.#.attention.o_proj.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"vit.layers.#.layernorm_after.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"vit.layers.#.mlp.fc1.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"vit.layers.#.mlp.fc2.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"vit.layernorm.*", "norm.*"},
    {"classifier.*", "head.*"},
};

// transformers' modeling_clip.py, CLIPModel and CLIPVisionModelWithProjection
constexpr NameRow kHuggingFaceClip[] = {
    {"vision_model.embeddings.class_embedding", "class_token", kOneMore},
    {"vision_model.embeddings.position_embedding.weight", "positions.table"},
    {"vision_model.embeddings.patch_embedding.weight", "patches.proj.weight", kPatchRows},
    {"vision_model.pre_layrnorm.*", "input_norm.*"},
    {"vision_model.encoder.layers.#.layer_norm1.*", "blocks.#.norm.*", kSame, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.{q|k|v}_proj.*", "blocks.#.attention.qkv.*", kStackedQkv, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.out_proj.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"vision_model.encoder.layers.#.layer_norm2.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc1.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc2.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"vision_model.post_layernorm.*", "norm.*"},
    {"visual_projection.weight", "projection.weight"},
};

// open_clip/transformer.py and OpenAI's clip/model.py: VisionTransformer
constexpr NameRow kOpenClip[] = {
    {"visual.class_embedding", "class_token", kOneMore},
    {"visual.positional_embedding", "positions.table"},
    {"visual.conv1.weight", "patches.proj.weight", kPatchRows},
    {"visual.ln_pre.*", "input_norm.*"},
    {"visual.transformer.resblocks.#.ln_1.*", "blocks.#.norm.*", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.in_proj_*", "blocks.#.attention.qkv.*", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.out_proj.*", "blocks.#.attention.proj.*", kSame, kBlocks},
    {"visual.transformer.resblocks.#.ln_2.*", "blocks.#.feed_forward.norm.*", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_fc.*", "blocks.#.feed_forward.fc1.*", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_proj.*", "blocks.#.feed_forward.fc2.*", kSame, kBlocks},
    {"visual.ln_post.*", "norm.*"},
    {"visual.proj", "projection.weight", kTransposed},
};
// clang-format on

std::vector<NameRule> RulesOf(std::span<const NameRow> rows) {
  std::vector<NameRule> rules;
  for (const NameRow& row : rows) {
    const bool is_pair = row.foreign.ends_with('*');
    for (const char* end : is_pair ? std::vector{"weight", "bias"} : std::vector{""}) {
      rules.push_back({std::string(row.foreign.substr(0, row.foreign.size() - is_pair)) + end,
                       std::string(row.ours.substr(0, row.ours.size() - is_pair)) + end, row.reshape, row.repeat});
    }
  }
  return rules;
}

// Returns true if all bytes are 0, which is how libraries write floating-point zeros, or if the tensor has no data.
bool IsZero(const StoredTensor& tensor) {
  if (tensor.data == nullptr) return true;
  return std::all_of(tensor.data.get(), tensor.data.get() + tensor.bytes(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

void DropHead(std::vector<NameRule>& rules) {
  std::erase_if(rules, [](const NameRule& rule) { return rule.ours.starts_with("head."); });
}

std::vector<NameRule> TimmVitRules(const v1::ModelConfig& config) {
  std::vector<NameRule> rules = RulesOf(kTimmVit);
  if (config.vit().distilled()) {
    rules.push_back({"dist_token", "distill_token", kOneLess});
    rules.push_back({"head_dist.weight", "head_distill.weight"});
    rules.push_back({"head_dist.bias", "head_distill.bias"});
  }
  if (config.vit().registers() > 0) rules.push_back({"reg_token", "registers", kOneLess});
  if (config.vit().layer_scale() > 0) {
    rules.push_back({"blocks.#.ls1.gamma", "blocks.#.attention_scale", kSame, kBlocks});
    rules.push_back({"blocks.#.ls2.gamma", "blocks.#.feed_forward_scale", kSame, kBlocks});
  }
  if (config.vit().input_norm()) {
    std::erase_if(rules, [](const NameRule& rule) { return rule.ours == "patches.proj.bias"; });
    rules.push_back({"norm_pre.weight", "input_norm.weight"});
    rules.push_back({"norm_pre.bias", "input_norm.bias"});
  }
  if (config.classes() == 0) DropHead(rules);
  if (config.vit().projection() > 0) rules.push_back({"head.weight", "projection.weight"});
  return rules;
}

// Changes the rules of ViT to the rules of Dinov2Model (modeling_dinov2.py and modeling_dinov2_with_registers.py).
void RenameToDinov2(const v1::VitConfig& vit, std::vector<NameRule>& rules) {
  for (NameRule& rule : rules) {
    rule.foreign = absl::StrReplaceAll(rule.foreign, {{"vit.layers.", "encoder.layer."},
                                                      {"vit.", ""},
                                                      {"layernorm_before", "norm1"},
                                                      {"layernorm_after", "norm2"},
                                                      {"#.intermediate.dense", "#.mlp.fc1"},
                                                      {"#.output.dense", "#.mlp.fc2"}});
  }
  rules.push_back({"encoder.layer.#.layer_scale1.lambda1", "blocks.#.attention_scale", kSame, kBlocks});
  rules.push_back({"encoder.layer.#.layer_scale2.lambda1", "blocks.#.feed_forward_scale", kSame, kBlocks});
  if (vit.registers() > 0) rules.push_back({"embeddings.register_tokens", "registers", kOneLess});
}

std::vector<NameRule> HuggingFaceRules(const v1::ModelConfig& config, const TensorMap& tensors) {
  const bool later = std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return tensor.first.ends_with(".0.attention.q_proj.weight");
  });
  std::vector<NameRule> rules = RulesOf(later ? std::span<const NameRow>(kTransformers5Vit) : kHuggingFaceVit);
  if (config.classes() == 0) DropHead(rules);
  if (config.vit().layer_scale() > 0) {
    RenameToDinov2(config.vit(), rules);
  } else if (config.classes() == 0 && tensors.contains("embeddings.cls_token")) {  // ViTModel
    for (NameRule& rule : rules) rule.foreign = absl::StrReplaceAll(rule.foreign, {{"vit.", ""}});
  }
  if (config.vit().distilled()) {  // modeling_deit.py, DeiTForImageClassificationWithTeacher
    for (NameRule& rule : rules) {
      rule.foreign = absl::StrReplaceAll(rule.foreign, {{"vit.", "deit."}, {"classifier.", "cls_classifier."}});
    }
    rules.push_back({"deit.embeddings.distillation_token", "distill_token", kOneLess});
    rules.push_back({"distillation_classifier.weight", "head_distill.weight"});
    rules.push_back({"distillation_classifier.bias", "head_distill.bias"});
  }
  return rules;
}

}  // namespace

std::vector<NameRule> NameRules(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors) {
  if (source == ForeignSource::kTimm && config.has_vit()) return TimmVitRules(config);
  if (source == ForeignSource::kTimm && config.has_xcit()) return RulesOf(kTimmXcit);
  if (source == ForeignSource::kOpenClip && config.vit().input_norm()) return RulesOf(kOpenClip);
  if (source == ForeignSource::kHuggingFace && config.vit().input_norm()) return RulesOf(kHuggingFaceClip);
  if (source == ForeignSource::kHuggingFace && config.has_vit()) return HuggingFaceRules(config, tensors);
  return {};
}

bool IsOfBody(ForeignSource source, std::string_view name) {
  if (source == ForeignSource::kOpenClip) return name.starts_with("visual.");
  if (source == ForeignSource::kHuggingFace) {
    return name.starts_with("vit.") || name.starts_with("deit.") || name.starts_with("embeddings.") ||
           name.starts_with("layers.") || name.starts_with("encoder.") || name.starts_with("layernorm.") ||
           name.starts_with("vision_model.");
  }
  return name == "cls_token" || name == "dist_token" || name == "reg_token" || name.starts_with("pos_embed") ||
         name.starts_with("patch_embed.") || name.starts_with("blocks.") || name.starts_with("cls_attn_blocks.") ||
         name.starts_with("norm.") || name.starts_with("norm_pre.");
}

bool IsIgnorable(ForeignSource source, std::string_view name, const StoredTensor& tensor) {
  switch (source) {
    case ForeignSource::kTimm:  // timm stores CLIP's projection as a head with a bias of zeros
      return name.ends_with(".num_batches_tracked") || (name == "head.bias" && IsZero(tensor));
    case ForeignSource::kHuggingFace:
      return name.starts_with("vit.pooler.") || name.starts_with("pooler.") || name == "embeddings.mask_token" ||
             name.starts_with("text_model.") || name == "text_projection.weight" || name == "logit_scale" ||
             name.ends_with(".position_ids");
    case ForeignSource::kOpenClip:  // ignores the text tower
      return !name.starts_with("visual.");
  }
  return false;
}

}  // namespace vitrine
