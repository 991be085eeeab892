// SPDX-License-Identifier: Apache-2.0
#include "models/repository/import/import_names.h"

namespace vitrine {
namespace {

using enum Reshape;
using enum Repeat;

// clang-format off
// timm/models/vision_transformer.py and deit.py
constexpr NameRule kTimmVit[] = {
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
constexpr NameRule kTimmXcit[] = {
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
constexpr NameRule kHuggingFaceVit[] = {
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
constexpr NameRule kTransformers5Vit[] = {
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
// clang-format on

}  // namespace

std::span<const NameRule> NameRules(ForeignSource source, v1::ModelConfig::FamilyCase family,
                                    const TensorMap& tensors) {
  if (source == ForeignSource::kTimm && family == v1::ModelConfig::kVit) return kTimmVit;
  if (source == ForeignSource::kTimm && family == v1::ModelConfig::kXcit) return kTimmXcit;
  if (source == ForeignSource::kHuggingFace && family == v1::ModelConfig::kVit) {
    const auto layer = tensors.lower_bound("vit.layers.");
    const bool later = layer != tensors.end() && layer->first.starts_with("vit.layers.");
    return later ? std::span<const NameRule>(kTransformers5Vit) : kHuggingFaceVit;
  }
  return {};
}

bool IsOfBody(ForeignSource source, std::string_view name) {
  if (source == ForeignSource::kHuggingFace) return name.starts_with("vit.");
  return name == "cls_token" || name.starts_with("pos_embed") || name.starts_with("patch_embed.") ||
         name.starts_with("blocks.") || name.starts_with("cls_attn_blocks.") || name.starts_with("norm.");
}

bool IsIgnorable(ForeignSource source, std::string_view name) {
  if (source == ForeignSource::kTimm) return name.ends_with(".num_batches_tracked");
  return name.starts_with("vit.pooler.");
}

}  // namespace vitrine
