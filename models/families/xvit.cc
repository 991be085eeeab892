// SPDX-License-Identifier: Apache-2.0
// X-ViT (the workshop form of UFO-ViT): the structure of XCiT, with attention that has no softmax and takes time linear
// in the number of tokens. The config can select other kinds of attention, stem and local layer.
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

program::AttendLinearly Linear(const v1::XVitConfig& xvit, bool class_query) {
  using Norm = program::AttendLinearly::Norm;
  const Norm norm = xvit.mixer() == v1::XVitConfig::NONE       ? Norm::kNone
                    : xvit.norm_axis() == v1::XVitConfig::LAST ? Norm::kValues
                                                               : Norm::kKeys;
  return {.heads = xvit.heads(), .norm = norm, .class_query = class_query};
}

program::Attend Softmax(const v1::XVitConfig& xvit, bool class_query) {
  const double scale = AttentionScale(xvit.attention_width(), xvit.heads());
  return {.heads = xvit.heads(), .scale = scale, .class_query = class_query};
}

Value Mix(Builder& b, const v1::XVitConfig& xvit, Value qkv) {
  if (xvit.mixer() == v1::XVitConfig::SOFTMAX) return b.Attend("mix", {qkv}, Softmax(xvit, /*class_query=*/false));
  if (xvit.mixer() == v1::XVitConfig::XCA) return b.AttendChannels("mix", {qkv}, {.heads = xvit.heads()});
  return b.AttendLinearly("mix", {qkv}, Linear(xvit, /*class_query=*/false));
}

// Adds attention over the tokens u with the class token as the only query.
Value MixForClass(Builder& b, const v1::XVitConfig& xvit, Value u) {
  const int64_t width = xvit.attention_width();
  const auto part = [&](Value x, int64_t first, int64_t count) {
    return b.LinearPart("qkv", x, first * width, count * width, 3 * width);
  };
  if (xvit.mixer() == v1::XVitConfig::SOFTMAX || xvit.mixer() == v1::XVitConfig::XCA) {
    return b.Attend("mix", {part(u, 0, 1), part(u, 1, 1), part(u, 2, 1)}, Softmax(xvit, /*class_query=*/true));
  }
  return b.AttendLinearly("mix", {part(b.TakeClass(u), 0, 1), part(u, 1, 2)}, Linear(xvit, /*class_query=*/true));
}

// Returns the branch of the local layer with its norm, in the scope "local".
Value Local(Builder& b, const v1::XVitConfig& xvit, Value x) {
  if (xvit.local() != v1::XVitConfig::DEPTHWISE) return LocalPatchInteraction(b, x, kXVitNormEpsilon);
  return b.Within("local", [&] {
    return b.ConvolveGrid("convolution", b.LayerNorm("norm", x, kXVitNormEpsilon), /*depthwise=*/true);
  });
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
    return Project(b, Mix(b, xvit, qkv), xvit.width());
  });
  x = AddAffine(b, xvit, "attention", x, attended, b.site() + 2);       // x + A1(XA(LN(x)))
  x = AddAffine(b, xvit, "local", x, Local(b, xvit, x), b.site() + 1);  // x + A2(LPI(LN(x)))
  const Value transformed = FeedForward(b, x, xvit.mlp_width(), kXVitNormEpsilon);
  return AddAffine(b, xvit, "feed_forward", x, transformed, b.site());  // x + A3(FFN(LN(x)))
}

// Adds a block in which the class token attends to all tokens; patch tokens stay unchanged (CaiT). There is no
// stochastic depth, as in XCiT.
Value ClassBlock(Builder& b, const v1::XVitConfig& xvit, Value x) {
  const Value u = b.LayerNorm("norm", x, kXVitNormEpsilon);
  const Value attended = b.Within("attention", [&] { return Project(b, MixForClass(b, xvit, u), xvit.width()); });
  Value c = AddAffine(b, xvit, "attention", b.TakeClass(x), attended, -1);
  c = AddAffine(b, xvit, "feed_forward", c, FeedForward(b, c, xvit.mlp_width(), kXVitNormEpsilon), -1);
  return b.JoinClass("join", c, b.TakeCells(x));
}

Program XVitProgram(const v1::ModelConfig& config) {
  const v1::XVitConfig& xvit = config.xvit();
  Builder b(config.preprocessing().channels());
  b.DrawsFirst({"stem", "patches", "positions", "head", "class_token"});
  Value x = xvit.stem() == v1::XVitConfig::PATCHES ? LinearPatches(b, xvit.patch(), xvit.width())
                                                   : ConvolutionStem(b, xvit.patch(), xvit.width());
  x = b.FourierPosition("positions", x);
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

absl::Status ValidateParts(const v1::XVitConfig& xvit) {
  RETURN_IF_ERROR(CheckRange("xvit.mixer", xvit.mixer(), 0, v1::XVitConfig::Mixer_MAX));
  RETURN_IF_ERROR(CheckRange("xvit.stem", xvit.stem(), 0, v1::XVitConfig::Stem_MAX));
  RETURN_IF_ERROR(CheckRange("xvit.local", xvit.local(), 0, v1::XVitConfig::Local_MAX));
  if (xvit.norm_axis() == v1::XVitConfig::LAST && xvit.mixer() > v1::XVitConfig::XNORM) {
    return absl::InvalidArgumentError(absl::StrCat("config.xvit.norm_axis is LAST, but config.xvit.mixer is ",
                                                   v1::XVitConfig::Mixer_Name(xvit.mixer()),
                                                   "; only mixer XNORM has an axis"));
  }
  if (xvit.stem() != v1::XVitConfig::PATCHES) return ValidateStem("xvit", xvit.patch(), xvit.width());
  RETURN_IF_ERROR(CheckRange("xvit.patch", xvit.patch(), 1, 256));
  return CheckRange("xvit.width", xvit.width(), 1, 16384);
}

absl::Status ValidateXVit(const v1::ModelConfig& config) {
  const v1::XVitConfig& xvit = config.xvit();
  RETURN_IF_ERROR(ValidateParts(xvit));
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
