// SPDX-License-Identifier: Apache-2.0
// Vision Transformer (Dosovitskiy et al. 2021): linear patches, class token, learned positions, and blocks. A block has
// a norm before each layer, or after each residual as in the first transformers (Vaswani et al. 2017). There may be
// further prefix tokens: DeiT's distillation token (Touvron et al. 2021) and registers (Darcet et al. 2024). CLIP's
// image tower (Radford et al. 2021) has a norm before the blocks and a projection.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/families/parts.h"
#include "models/program/builder.h"
#include "models/zoo/rows.h"

namespace vitrine {
namespace {

using program::Builder;
using program::PrefixToken;
using program::Program;
using program::Value;
using Place = program::Drop::Place;

constexpr program::Initial kVitTokenInitial = {program::Initial::Kind::kTruncatedNormal, 0.02};

double NormEpsilon(const v1::VitConfig& vit) {
  return vit.norm_epsilon() == 0 ? 1e-6 : vit.norm_epsilon();
}

GridResize ResizeOf(const v1::VitConfig& vit) {
  if (vit.position_resize() == v1::VitConfig::BICUBIC_SHARP) return GridResize::kBicubic;
  return vit.position_resize() == v1::VitConfig::BICUBIC_OFFSET ? GridResize::kBicubicOffset : GridResize::kAntialiased;
}

Activation ActivationOf(const v1::VitConfig& vit) {
  return vit.activation() == v1::VitConfig::QUICK_GELU ? Activation::kQuickGelu : Activation::kGelu;
}

Value PreNormBlock(Builder& b, const v1::VitConfig& vit, Value x) {
  const double epsilon = NormEpsilon(vit);
  const auto add = [&](const char* name, Value branch, int path, const char* scale) {
    if (vit.layer_scale() == 0) return b.Residual(name, x, branch, path);
    return b.ScaledResidual(name, x, branch, path, scale, vit.layer_scale());
  };
  const Value u = b.LayerNorm("norm", x, epsilon);
  x = add("add", SelfAttention(b, u, vit.heads()), b.site() + 2, "attention_scale");  // Eq. 2
  const Value branch = FeedForward(b, x, vit.mlp_width(), epsilon, ActivationOf(vit));
  return add("feed_forward.add", branch, b.site(), "feed_forward_scale");  // Eq. 3
}

// Puts the class token, the distillation token and the registers before the cells.
Value JoinPrefix(Builder& b, const v1::VitConfig& vit, Value cells) {
  std::vector<Value> rows = {b.ClassToken("class_token", vit.width(), kVitTokenInitial)};
  std::vector<PrefixToken> prefix = {PrefixToken::kClass};
  if (vit.distilled()) {
    rows.push_back(b.ClassToken("distill_token", vit.width(), kVitTokenInitial));
    prefix.push_back(PrefixToken::kDistill);
  }
  for (const Value row : b.LearnedRows("registers", vit.registers(), vit.width(), kVitTokenInitial)) {
    rows.push_back(row);
    prefix.push_back(PrefixToken::kRegister);
  }
  return b.JoinPrefix("join", std::move(rows), std::move(prefix), cells);
}

// Returns the logits of the class token (or of its projection); for DeiT, returns the mean of the logits of the class
// token and of the distillation token. Without classes, returns the input of the head.
Value Head(Builder& b, const v1::VitConfig& vit, Value x, int classes) {
  Value token = b.TakeClass(x);
  if (vit.projection() > 0) {
    token = b.Linear("projection", token, vit.projection(), /*bias=*/false);
    b.Projection(token);
  }
  if (classes == 0) return token;
  if (vit.cosine_head()) return b.Linear("head", b.UnitLength("unit_length", token), classes, /*bias=*/false);
  const Value logits = b.Linear("head", token, classes);  // Eq. 4
  if (!vit.distilled()) return logits;
  const Value distilled = b.Linear("head_distill", b.TakeClass(x, 1), classes);
  return b.Mean("mean", logits, distilled);
}

Value PostNormBlock(Builder& b, const v1::VitConfig& vit, Value x) {
  b.ListsFirst({"norm"});
  x = b.Residual("add", x, SelfAttention(b, x, vit.heads()), b.site() + 2);
  x = b.LayerNorm("norm", x, NormEpsilon(vit));  // LN(x + MSA(x))
  return b.Within("feed_forward", [&] {
    b.ListsFirst({"norm"});
    const Value sum = b.Residual("add", x, Mlp(b, x, vit.mlp_width(), ActivationOf(vit)), b.site());
    return b.LayerNorm("norm", sum, NormEpsilon(vit));  // LN(x + MLP(x))
  });
}

Program VitProgram(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  const bool post = vit.norm() == v1::VitConfig::POST;
  Builder b(config.preprocessing().channels());
  b.DrawsFirst({"patches", "positions", "head", "class_token"});
  Value x = LinearPatches(b, vit.patch(), vit.width(), !vit.input_norm());
  x = JoinPrefix(b, vit, x);
  const bool positioned = vit.prefix_positions() == v1::VitConfig::CLASS_TOKENS;
  const program::TablePosition table = {.grid = {vit.grid_rows(), vit.grid_columns()},
                                        .prefix = !positioned       ? 0
                                                  : vit.distilled() ? 2
                                                                    : 1,
                                        .resize = ResizeOf(vit)};
  x = b.PositionTable("positions", x, table, kVitTokenInitial);  // Eq. 1
  if (vit.input_norm()) x = b.LayerNorm("input_norm", x, NormEpsilon(vit));
  x = b.Drop(x, Place::kPositions, vit.depth() * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  for (int i = 0; i < vit.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return post ? PostNormBlock(b, vit, x) : PreNormBlock(b, vit, x); });
  }
  b.Enter(program::Part::kHead);
  if (!post) x = b.LayerNorm("norm", x, NormEpsilon(vit));
  b.FinalTokens(x);
  return b.Take(Head(b, vit, x, config.classes()));
}

absl::Status ValidateVit(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  RETURN_IF_ERROR(CheckRange("vit.patch", vit.patch(), 1, 256));
  RETURN_IF_ERROR(CheckRange("vit.width", vit.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("vit.depth", vit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("vit.heads", vit.heads(), 1, vit.width()));
  RETURN_IF_ERROR(CheckMultiple("vit.width", vit.width(), "vit.heads", vit.heads()));
  RETURN_IF_ERROR(CheckRange("vit.mlp_width", vit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("vit.grid_rows", vit.grid_rows(), 1, 256));
  RETURN_IF_ERROR(CheckRange("vit.grid_columns", vit.grid_columns(), 1, 256));
  RETURN_IF_ERROR(CheckRange("vit.registers", vit.registers(), 0, 64));
  RETURN_IF_ERROR(CheckRange("vit.prefix_positions", vit.prefix_positions(), 0, v1::VitConfig::PrefixPositions_MAX));
  RETURN_IF_ERROR(CheckRange("vit.position_resize", vit.position_resize(), 0, v1::VitConfig::PositionResize_MAX));
  RETURN_IF_ERROR(CheckRange("vit.activation", vit.activation(), 0, v1::VitConfig::Activation_MAX));
  RETURN_IF_ERROR(CheckRange("vit.projection", vit.projection(), 0, 16384));
  RETURN_IF_ERROR(CheckRange("vit.norm", vit.norm(), 0, v1::VitConfig::Norm_MAX));
  if (!(vit.norm_epsilon() >= 0 && vit.norm_epsilon() <= 0.1F)) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.vit.norm_epsilon is ", vit.norm_epsilon(), "; it must be 0 to 0.1"));
  }
  if (!(vit.layer_scale() >= 0 && vit.layer_scale() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.vit.layer_scale is ", vit.layer_scale(), "; it must be 0 to 1"));
  }
  if (vit.layer_scale() > 0 && vit.norm() == v1::VitConfig::POST) {
    return absl::InvalidArgumentError("config.vit.layer_scale is set; it must be 0 if config.vit.norm is POST");
  }
  if (vit.distilled() && config.classes() == 0) {
    return absl::InvalidArgumentError("config.vit.distilled is set; it needs config.classes of at least 1");
  }
  if (vit.distilled() && vit.projection() > 0) {
    return absl::InvalidArgumentError("config.vit.projection is set; it must be 0 if config.vit.distilled is set");
  }
  if (vit.cosine_head() && (vit.projection() == 0 || config.classes() == 0)) {
    return absl::InvalidArgumentError(
        "config.vit.cosine_head is set; it needs config.vit.projection and config.classes of at least 1");
  }
  return ValidateCell(config, "vit.patch", vit.patch());
}

}  // namespace

Family VitFamily() {
  return {v1::ModelConfig::kVit, "vit", ValidateVit, zoo::VitRows, VitProgram};
}

}  // namespace vitrine
