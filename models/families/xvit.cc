// SPDX-License-Identifier: Apache-2.0
// X-ViT (the workshop form of UFO-ViT): the structure of XCiT, with attention that has no softmax and costs time linear
// in the tokens.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/families/parts.h"
#include "models/families/stem_config.h"
#include "models/program/builder.h"
#include "models/zoo/rows.h"

namespace vitrine {
namespace {

using program::Builder;
using program::Program;
using program::Value;
using Place = program::Drop::Place;

constexpr double kXVitNormEpsilon = 1e-6;

program::AttendLinearly Attention(const v1::XVitConfig& xvit) {
  return {.heads = xvit.heads(), .over_values = xvit.norm_axis() == v1::XVitConfig::LAST};
}

// Returns x + A(branch), where A is an affine layer.
Value AddAffine(Builder& b, const v1::XVitConfig& xvit, const std::string& name, Value x, Value branch, int path) {
  const double initial = xvit.affine_scale() == 0 ? 1 : xvit.affine_scale();
  return b.Residual(name + ".add", x, b.Affine(name + "_affine", branch, initial), path);
}

Value Block(Builder& b, const v1::XVitConfig& xvit, Value x) {
  const Value u = b.LayerNorm("norm", x, kXVitNormEpsilon);
  const Value attended = b.Within("attention", [&] {
    const Value qkv = b.Linear("qkv", u, 3 * int64_t{xvit.attention_width()});
    return Project(b, b.AttendLinearly("mix", {qkv}, Attention(xvit)), xvit.width());
  });
  x = AddAffine(b, xvit, "attention", x, attended, b.site() + 2);  // x + A1(XA(LN(x)))
  x = AddAffine(b, xvit, "local", x, LocalPatchInteraction(b, x, kXVitNormEpsilon),
                b.site() + 1);  // x + A2(LPI(LN(x)))
  const Value transformed = FeedForward(b, x, xvit.mlp_width(), kXVitNormEpsilon);
  return AddAffine(b, xvit, "feed_forward", x, transformed, b.site());  // x + A3(FFN(LN(x)))
}

// The class token attends to all tokens; patch tokens stay unchanged (CaiT). Without stochastic depth, as in XCiT.
Value ClassBlock(Builder& b, const v1::XVitConfig& xvit, Value x) {
  const int64_t width = xvit.attention_width();
  const Value u = b.LayerNorm("norm", x, kXVitNormEpsilon);
  const Value attended = b.Within("attention", [&] {
    const Value q = b.LinearPart("qkv", b.TakeClass(u), 0, width, 3 * width);
    const Value kv = b.LinearPart("qkv", u, width, 2 * width, 3 * width);
    program::AttendLinearly attention = Attention(xvit);
    attention.class_query = true;
    return Project(b, b.AttendLinearly("mix", {q, kv}, attention), xvit.width());
  });
  Value c = AddAffine(b, xvit, "attention", b.TakeClass(x), attended, -1);
  c = AddAffine(b, xvit, "feed_forward", c, FeedForward(b, c, xvit.mlp_width(), kXVitNormEpsilon), -1);
  return b.JoinClass("join", c, b.TakeCells(x));
}

Program XVitProgram(const v1::ModelConfig& config) {
  const v1::XVitConfig& xvit = config.xvit();
  Builder b(config.preprocessing().channels());
  b.DrawsFirst({"stem", "positions", "head", "class_token"});
  Value x = b.FourierPosition("positions", ConvolutionStem(b, xvit.patch(), xvit.width()));
  x = b.Drop(x, Place::kPositions, (xvit.depth() + xvit.class_depth()) * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  const Value c = b.ClassToken("class_token", xvit.width(), {program::Initial::Kind::kTruncatedNormal, 0.02});
  for (int i = 0; i < xvit.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return Block(b, xvit, x); });
  }
  x = b.JoinClass("join", c, x);
  for (int i = 0; i < xvit.class_depth(); ++i) {
    x = b.Block(absl::StrCat("class_blocks.", i), [&] { return ClassBlock(b, xvit, x); });
  }
  b.Enter(program::Part::kHead);
  x = b.LayerNorm("norm", x, kXVitNormEpsilon);
  b.FinalTokens(x);
  return b.Take(b.Linear("head", b.TakeClass(x), config.classes()));
}

absl::Status ValidateXVit(const v1::ModelConfig& config) {
  const v1::XVitConfig& xvit = config.xvit();
  RETURN_IF_ERROR(ValidateStem("xvit", xvit.patch(), xvit.width()));
  RETURN_IF_ERROR(CheckRange("xvit.depth", xvit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("xvit.class_depth", xvit.class_depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("xvit.attention_width", xvit.attention_width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("xvit.heads", xvit.heads(), 1, xvit.attention_width()));
  RETURN_IF_ERROR(CheckMultiple("xvit.attention_width", xvit.attention_width(), "xvit.heads", xvit.heads()));
  RETURN_IF_ERROR(CheckRange("xvit.mlp_width", xvit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckInitialScale("xvit.affine_scale", xvit.affine_scale()));
  if (!v1::XVitConfig::NormAxis_IsValid(xvit.norm_axis())) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.xvit.norm_axis is ", int{xvit.norm_axis()}, ", which is not an axis"));
  }
  return ValidateCell(config, "xvit.patch", xvit.patch());
}

}  // namespace

Family XVitFamily() {
  return {v1::ModelConfig::kXvit, "xvit", ValidateXVit, zoo::XVitRows, XVitProgram};
}

}  // namespace vitrine
