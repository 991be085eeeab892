// SPDX-License-Identifier: Apache-2.0
#include "models/repository/import/import_names.h"

#include <algorithm>

#include "absl/strings/str_replace.h"

namespace vitrine {
namespace {

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
    {"blocks.#.norm1.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"blocks.#.norm1.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"blocks.#.attn.qkv.weight", "blocks.#.attention.qkv.weight", kSame, kBlocks},
    {"blocks.#.attn.qkv.bias", "blocks.#.attention.qkv.bias", kSame, kBlocks},
    {"blocks.#.attn.proj.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"blocks.#.attn.proj.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"blocks.#.norm2.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"blocks.#.norm2.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"blocks.#.mlp.fc1.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"blocks.#.mlp.fc1.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"blocks.#.mlp.fc2.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"blocks.#.mlp.fc2.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"norm.weight", "norm.weight"},
    {"norm.bias", "norm.bias"},
    {"head.weight", "head.weight"},
    {"head.bias", "head.bias"},
};

// timm/models/xcit.py. In the stem, convolution + BatchNorm alternate with GELU, hence only every other number.
constexpr NameRow kTimmXcit[] = {
    {"cls_token", "class_token", kOneLess},
    {"patch_embed.proj.@.0.weight", "stem.convolutions.#.weight", kSame, kStem},
    {"patch_embed.proj.@.1.weight", "stem.norms.#.weight", kSame, kStem},
    {"patch_embed.proj.@.1.bias", "stem.norms.#.bias", kSame, kStem},
    {"patch_embed.proj.@.1.running_mean", "stem.norms.#.running_mean", kSame, kStem},
    {"patch_embed.proj.@.1.running_var", "stem.norms.#.running_var", kSame, kStem},
    {"pos_embed.token_projection.weight", "positions.projection.weight", kMatrix},
    {"pos_embed.token_projection.bias", "positions.projection.bias"},
    {"blocks.#.gamma1", "blocks.#.attention_scale", kSame, kBlocks},
    {"blocks.#.gamma2", "blocks.#.feed_forward_scale", kSame, kBlocks},
    {"blocks.#.gamma3", "blocks.#.local_scale", kSame, kBlocks},
    {"blocks.#.norm1.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"blocks.#.norm1.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"blocks.#.attn.temperature", "blocks.#.attention.temperature", kSame, kBlocks},
    {"blocks.#.attn.qkv.weight", "blocks.#.attention.qkv.weight", kSame, kBlocks},
    {"blocks.#.attn.qkv.bias", "blocks.#.attention.qkv.bias", kSame, kBlocks},
    {"blocks.#.attn.proj.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"blocks.#.attn.proj.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"blocks.#.norm3.weight", "blocks.#.local.norm.weight", kSame, kBlocks},
    {"blocks.#.norm3.bias", "blocks.#.local.norm.bias", kSame, kBlocks},
    {"blocks.#.local_mp.conv1.weight", "blocks.#.local.convolutions.0.weight", kSame, kBlocks},
    {"blocks.#.local_mp.conv1.bias", "blocks.#.local.convolutions.0.bias", kSame, kBlocks},
    {"blocks.#.local_mp.bn.weight", "blocks.#.local.batch_norm.weight", kSame, kBlocks},
    {"blocks.#.local_mp.bn.bias", "blocks.#.local.batch_norm.bias", kSame, kBlocks},
    {"blocks.#.local_mp.bn.running_mean", "blocks.#.local.batch_norm.running_mean", kSame, kBlocks},
    {"blocks.#.local_mp.bn.running_var", "blocks.#.local.batch_norm.running_var", kSame, kBlocks},
    {"blocks.#.local_mp.conv2.weight", "blocks.#.local.convolutions.1.weight", kSame, kBlocks},
    {"blocks.#.local_mp.conv2.bias", "blocks.#.local.convolutions.1.bias", kSame, kBlocks},
    {"blocks.#.norm2.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"blocks.#.norm2.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"blocks.#.mlp.fc1.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"blocks.#.mlp.fc1.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"blocks.#.mlp.fc2.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"blocks.#.mlp.fc2.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"cls_attn_blocks.#.gamma1", "class_blocks.#.attention_scale", kSame, kClassBlocks},
    {"cls_attn_blocks.#.gamma2", "class_blocks.#.feed_forward_scale", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm1.weight", "class_blocks.#.norm.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm1.bias", "class_blocks.#.norm.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.q.weight", "class_blocks.#.attention.q.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.q.bias", "class_blocks.#.attention.q.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.k.weight", "class_blocks.#.attention.k.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.k.bias", "class_blocks.#.attention.k.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.v.weight", "class_blocks.#.attention.v.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.v.bias", "class_blocks.#.attention.v.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.proj.weight", "class_blocks.#.attention.proj.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.attn.proj.bias", "class_blocks.#.attention.proj.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm2.weight", "class_blocks.#.feed_forward.norm.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.norm2.bias", "class_blocks.#.feed_forward.norm.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc1.weight", "class_blocks.#.feed_forward.fc1.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc1.bias", "class_blocks.#.feed_forward.fc1.bias", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc2.weight", "class_blocks.#.feed_forward.fc2.weight", kSame, kClassBlocks},
    {"cls_attn_blocks.#.mlp.fc2.bias", "class_blocks.#.feed_forward.fc2.bias", kSame, kClassBlocks},
    {"norm.weight", "norm.weight"},
    {"norm.bias", "norm.bias"},
    {"head.weight", "head.weight"},
    {"head.bias", "head.bias"},
};

// transformers' modeling_vit.py, ViTForImageClassification
constexpr NameRow kHuggingFaceVit[] = {
    {"vit.embeddings.cls_token", "class_token", kOneLess},
    {"vit.embeddings.position_embeddings", "positions.table", kOneLess},
    {"vit.embeddings.patch_embeddings.projection.weight", "patches.proj.weight", kPatchRows},
    {"vit.embeddings.patch_embeddings.projection.bias", "patches.proj.bias"},
    {"vit.encoder.layer.#.layernorm_before.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"vit.encoder.layer.#.layernorm_before.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"vit.encoder.layer.#.attention.attention.{query|key|value}.weight", "blocks.#.attention.qkv.weight", kStackedQkv, kBlocks},
    {"vit.encoder.layer.#.attention.attention.{query|key|value}.bias", "blocks.#.attention.qkv.bias", kStackedQkv, kBlocks},
    {"vit.encoder.layer.#.attention.output.dense.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"vit.encoder.layer.#.attention.output.dense.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"vit.encoder.layer.#.layernorm_after.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"vit.encoder.layer.#.layernorm_after.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"vit.encoder.layer.#.intermediate.dense.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"vit.encoder.layer.#.intermediate.dense.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"vit.encoder.layer.#.output.dense.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"vit.encoder.layer.#.output.dense.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"vit.layernorm.weight", "norm.weight"},
    {"vit.layernorm.bias", "norm.bias"},
    {"classifier.weight", "head.weight"},
    {"classifier.bias", "head.bias"},
};

// Names in the state_dict() of later transformers 5.x; their save_pretrained still writes the names above.
constexpr NameRow kTransformers5Vit[] = {
    {"vit.embeddings.cls_token", "class_token", kOneLess},
    {"vit.embeddings.position_embeddings", "positions.table", kOneLess},
    {"vit.embeddings.patch_embeddings.projection.weight", "patches.proj.weight", kPatchRows},
    {"vit.embeddings.patch_embeddings.projection.bias", "patches.proj.bias"},
    {"vit.layers.#.layernorm_before.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"vit.layers.#.layernorm_before.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"vit.layers.#.attention.{q|k|v}_proj.weight", "blocks.#.attention.qkv.weight", kStackedQkv, kBlocks},
    {"vit.layers.#.attention.{q|k|v}_proj.bias", "blocks.#.attention.qkv.bias", kStackedQkv, kBlocks},
    {"vit.layers.#.attention.o_proj.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"vit.layers.#.attention.o_proj.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"vit.layers.#.layernorm_after.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"vit.layers.#.layernorm_after.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"vit.layers.#.mlp.fc1.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"vit.layers.#.mlp.fc1.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"vit.layers.#.mlp.fc2.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"vit.layers.#.mlp.fc2.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"vit.layernorm.weight", "norm.weight"},
    {"vit.layernorm.bias", "norm.bias"},
    {"classifier.weight", "head.weight"},
    {"classifier.bias", "head.bias"},
};

// transformers' modeling_clip.py, CLIPModel and CLIPVisionModelWithProjection
constexpr NameRow kHuggingFaceClip[] = {
    {"vision_model.embeddings.class_embedding", "class_token", kOneMore},
    {"vision_model.embeddings.position_embedding.weight", "positions.table"},
    {"vision_model.embeddings.patch_embedding.weight", "patches.proj.weight", kPatchRows},
    {"vision_model.pre_layrnorm.weight", "input_norm.weight"},
    {"vision_model.pre_layrnorm.bias", "input_norm.bias"},
    {"vision_model.encoder.layers.#.layer_norm1.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"vision_model.encoder.layers.#.layer_norm1.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.{q|k|v}_proj.weight", "blocks.#.attention.qkv.weight", kStackedQkv, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.{q|k|v}_proj.bias", "blocks.#.attention.qkv.bias", kStackedQkv, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.out_proj.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"vision_model.encoder.layers.#.self_attn.out_proj.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"vision_model.encoder.layers.#.layer_norm2.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"vision_model.encoder.layers.#.layer_norm2.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc1.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc1.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc2.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"vision_model.encoder.layers.#.mlp.fc2.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"vision_model.post_layernorm.weight", "norm.weight"},
    {"vision_model.post_layernorm.bias", "norm.bias"},
    {"visual_projection.weight", "projection.weight"},
};

// open_clip/transformer.py and OpenAI's clip/model.py: VisionTransformer
constexpr NameRow kOpenClip[] = {
    {"visual.class_embedding", "class_token", kOneMore},
    {"visual.positional_embedding", "positions.table"},
    {"visual.conv1.weight", "patches.proj.weight", kPatchRows},
    {"visual.ln_pre.weight", "input_norm.weight"},
    {"visual.ln_pre.bias", "input_norm.bias"},
    {"visual.transformer.resblocks.#.ln_1.weight", "blocks.#.norm.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.ln_1.bias", "blocks.#.norm.bias", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.in_proj_weight", "blocks.#.attention.qkv.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.in_proj_bias", "blocks.#.attention.qkv.bias", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.out_proj.weight", "blocks.#.attention.proj.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.attn.out_proj.bias", "blocks.#.attention.proj.bias", kSame, kBlocks},
    {"visual.transformer.resblocks.#.ln_2.weight", "blocks.#.feed_forward.norm.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.ln_2.bias", "blocks.#.feed_forward.norm.bias", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_fc.weight", "blocks.#.feed_forward.fc1.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_fc.bias", "blocks.#.feed_forward.fc1.bias", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_proj.weight", "blocks.#.feed_forward.fc2.weight", kSame, kBlocks},
    {"visual.transformer.resblocks.#.mlp.c_proj.bias", "blocks.#.feed_forward.fc2.bias", kSame, kBlocks},
    {"visual.ln_post.weight", "norm.weight"},
    {"visual.ln_post.bias", "norm.bias"},
    {"visual.proj", "projection.weight", kTransposed},
};
// clang-format on

std::vector<NameRule> RulesOf(std::span<const NameRow> rows) {
  std::vector<NameRule> rules;
  for (const NameRow& row : rows) {
    rules.push_back({std::string(row.foreign), std::string(row.ours), row.reshape, row.repeat});
  }
  return rules;
}

// True if all bytes are 0, which is how libraries write floating-point zeros, or if the tensor has no data.
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

// modeling_dinov2.py and modeling_dinov2_with_registers.py: Dinov2Model, from the rules of ViT.
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
    case ForeignSource::kTimm:  // timm has CLIP's projection as a head with a bias of zeros
      return name.ends_with(".num_batches_tracked") || (name == "head.bias" && IsZero(tensor));
    case ForeignSource::kHuggingFace:
      return name.starts_with("vit.pooler.") || name.starts_with("pooler.") || name == "embeddings.mask_token" ||
             name.starts_with("text_model.") || name == "text_projection.weight" || name == "logit_scale" ||
             name.ends_with(".position_ids");
    case ForeignSource::kOpenClip:  // the text tower
      return !name.starts_with("visual.");
  }
  return false;
}

}  // namespace vitrine
