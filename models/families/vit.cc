// SPDX-License-Identifier: Apache-2.0
// Vision Transformer (Dosovitskiy et al. 2021): linear patches, class token, learned positions, and blocks. A block has
// a norm before each layer, or after each residual as in the first transformers (Vaswani et al. 2017).
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
using program::Program;
using program::Value;
using Place = program::Drop::Place;

constexpr program::Initial kVitTokenInitial = {program::Initial::Kind::kTruncatedNormal, 0.02};

double NormEpsilon(const v1::VitConfig& vit) {
  return vit.norm_epsilon() == 0 ? 1e-6 : vit.norm_epsilon();
}

Value PreNormBlock(Builder& b, const v1::VitConfig& vit, Value x) {
  const double epsilon = NormEpsilon(vit);
  x = b.Residual("add", x, SelfAttention(b, b.LayerNorm("norm", x, epsilon), vit.heads()), b.site() + 2);  // Eq. 2
  return b.Residual("feed_forward.add", x, FeedForward(b, x, vit.mlp_width(), epsilon), b.site());         // Eq. 3
}

Value PostNormBlock(Builder& b, const v1::VitConfig& vit, Value x) {
  b.ListsFirst({"norm"});
  x = b.Residual("add", x, SelfAttention(b, x, vit.heads()), b.site() + 2);
  x = b.LayerNorm("norm", x, NormEpsilon(vit));  // LN(x + MSA(x))
  return b.Within("feed_forward", [&] {
    b.ListsFirst({"norm"});
    const Value sum = b.Residual("add", x, Mlp(b, x, vit.mlp_width()), b.site());
    return b.LayerNorm("norm", sum, NormEpsilon(vit));  // LN(x + MLP(x))
  });
}

Program VitProgram(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  const bool post = vit.norm() == v1::VitConfig::POST;
  Builder b(config.preprocessing().channels());
  b.DrawsFirst({"patches", "positions", "head", "class_token"});
  Value x = LinearPatches(b, vit.patch(), vit.width());
  x = b.JoinClass("join", b.ClassToken("class_token", vit.width(), kVitTokenInitial), x);
  x = b.TablePosition("positions", x, {vit.grid_rows(), vit.grid_columns()}, kVitTokenInitial);  // Eq. 1
  x = b.Drop(x, Place::kPositions, vit.depth() * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  for (int i = 0; i < vit.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return post ? PostNormBlock(b, vit, x) : PreNormBlock(b, vit, x); });
  }
  b.Enter(program::Part::kHead);
  if (!post) x = b.LayerNorm("norm", x, NormEpsilon(vit));
  b.FinalTokens(x);
  return b.Take(b.Linear("head", b.TakeClass(x), config.classes()));  // Eq. 4
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
  RETURN_IF_ERROR(CheckRange("vit.norm", vit.norm(), 0, v1::VitConfig::Norm_MAX));
  if (!(vit.norm_epsilon() >= 0 && vit.norm_epsilon() <= 0.1F)) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.vit.norm_epsilon is ", vit.norm_epsilon(), "; it must be 0 to 0.1"));
  }
  return ValidateCell(config, "vit.patch", vit.patch());
}

}  // namespace

Family VitFamily() {
  return {v1::ModelConfig::kVit, "vit", ValidateVit, zoo::VitRows, VitProgram};
}

}  // namespace vitrine
