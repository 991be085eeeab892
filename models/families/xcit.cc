// SPDX-License-Identifier: Apache-2.0
// XCiT (El-Nouby et al. 2021) and the QKV embeddings of paper 000 (docs/research/claims/000.md). Attention is between
// channels instead of tokens, so that the number of operations is linear in the number of tokens. The class token is
// added before the last blocks.
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

constexpr double kXcitNormEpsilon = 1e-6;

double LayerScale(const v1::XcitConfig& xcit) {
  return xcit.layer_scale() == 0 ? 1 : xcit.layer_scale();
}

// --- q, k and v (paper 000): one linear layer, or small networks with ReLU between their layers

constexpr const char* kParts[] = {"q", "k", "v"};

int Codes(Builder& b, const v1::XcitConfig& xcit) {
  return b.NeverDecays(b.AddWeight("codes", {3, xcit.code_length()}, {program::Initial::Kind::kNormal, 1}));
}

// Returns q, k and v of SNE: each has a separate network.
std::vector<Value> Separate(Builder& b, const v1::XcitConfig& xcit, Value u) {
  const int layers = xcit.embedding_layers() == 0 ? 2 : xcit.embedding_layers();
  std::vector<Value> qkv;
  for (const char* part : kParts) {
    qkv.push_back(b.Within(part, [&] {
      Value x = b.Linear("0", u, xcit.embedding_width());
      for (int i = 1; i < layers; ++i) {
        const int64_t outputs = i + 1 == layers ? xcit.width() : xcit.embedding_width();
        x = b.Linear(absl::StrCat(i), b.Relu(absl::StrCat("relu.", i), x), outputs);
      }
      return x;
    }));
  }
  return qkv;
}

// Returns q, k and v of P-SNE: they have separate first layers and share the second layer.
std::vector<Value> PartlyShared(Builder& b, const v1::XcitConfig& xcit, Value u) {
  b.ListsFirst({"q", "k", "v"});
  std::vector<Value> qkv;
  for (const std::string part : kParts) {
    const Value hidden = b.Relu(part + ".relu", b.Linear(part, u, xcit.embedding_width()));
    qkv.push_back(b.SharedLinear("shared", part, hidden, xcit.width()));
  }
  return qkv;
}

// Returns q, k and v of F-SNE: they share both layers; the input is [u, C_part] with a learned code C_part for each of
// q, k and v.
std::vector<Value> FullyShared(Builder& b, const v1::XcitConfig& xcit, int shared_codes, Value u) {
  b.DrawsFirst({"first", "second"});
  const int codes = xcit.codes_per_block() ? Codes(b, xcit) : shared_codes;
  std::vector<Value> qkv;
  for (int part = 0; part < 3; ++part) {
    const Value hidden = b.CodedLinear("first", u, xcit.embedding_width(), codes, part);
    qkv.push_back(
        b.SharedLinear("second", kParts[part], b.Relu(absl::StrCat(kParts[part], ".relu"), hidden), xcit.width()));
  }
  return qkv;
}

std::vector<Value> Embedded(Builder& b, const v1::XcitConfig& xcit, int shared_codes, Value u) {
  if (xcit.embedding() == v1::XcitConfig::SNE) return Separate(b, xcit, u);
  if (xcit.embedding() == v1::XcitConfig::P_SNE) return PartlyShared(b, xcit, u);
  return FullyShared(b, xcit, shared_codes, u);
}

// --- blocks

Value CrossCovariance(Builder& b, const v1::XcitConfig& xcit, int shared_codes, Value u) {
  const bool linear =
      xcit.embedding() == v1::XcitConfig::LINEAR || xcit.embedding() == v1::XcitConfig::EMBEDDING_UNSPECIFIED;
  return b.Within("attention", [&] {
    const std::vector<Value> qkv = linear ? std::vector<Value>{b.Linear("qkv", u, 3 * int64_t{xcit.width()})}
                                          : b.Within("qkv", [&] { return Embedded(b, xcit, shared_codes, u); });
    return Project(b, b.AttendChannels("mix", qkv, {.heads = xcit.heads()}), xcit.width());
  });
}

// Adds a block. NOTE: the local patch interaction precedes the MLP.
Value Block(Builder& b, const v1::XcitConfig& xcit, int shared_codes, Value x) {
  const auto add = [&](const std::string& name, Value branch, int path) {
    return b.ScaledResidual(name + ".add", x, branch, b.site() + path, name + "_scale", LayerScale(xcit));
  };
  const Value u = b.LayerNorm("norm", x, kXcitNormEpsilon);
  x = add("attention", CrossCovariance(b, xcit, shared_codes, u), 2);                    // x + gamma1 * XCA(LN(x))
  x = add("local", LocalPatchInteraction(b, x, kXcitNormEpsilon), 1);                    // x + gamma3 * LPI(LN(x))
  return add("feed_forward", FeedForward(b, x, xcit.mlp_width(), kXcitNormEpsilon), 0);  // x + gamma2 * MLP(LN(x))
}

// Adds class attention: the class token attends to all tokens.
Value ClassAttention(Builder& b, const v1::XcitConfig& xcit, Value u) {
  return b.Within("attention", [&] {
    const std::vector<Value> qkv = b.LinearsTogether({"q", "k", "v"}, u, xcit.width());
    const program::Attend attend = {
        .heads = xcit.heads(), .scale = AttentionScale(xcit.width(), xcit.heads()), .class_query = true};
    return Project(b, b.Attend("mix", qkv, attend), xcit.width());
  });
}

// Adds a block of class attention. NOTE: as in XCiT's code, the attention branch contains LN(x) of the patch tokens,
// which the residual adds to x. The second residual starts from normalised tokens: x = LN(x), then x + gamma2 * MLP(x).
// There is no stochastic depth.
Value ClassBlock(Builder& b, const v1::XcitConfig& xcit, Value x) {
  const Value u = b.LayerNorm("norm", x, kXcitNormEpsilon);
  const Value gathered = ClassAttention(b, xcit, u);
  const Value attended = b.JoinClass("attention.join", gathered, b.TakeCells(u));
  x = b.ScaledResidual("attention.add", x, attended, /*path=*/-1, "attention_scale", LayerScale(xcit));
  Value c, patches;
  const Value transformed = b.Within("feed_forward", [&] {
    if (xcit.tokens_norm()) x = b.LayerNorm("norm", x, kXcitNormEpsilon);
    c = b.TakeClass(x);
    if (!xcit.tokens_norm()) c = b.LayerNorm("norm", c, kXcitNormEpsilon);
    return Mlp(b, c, xcit.mlp_width());
  });
  patches = b.TakeCells(x);
  c = b.ScaledResidual("feed_forward.add", c, transformed, /*path=*/-1, "feed_forward_scale", LayerScale(xcit));
  return b.JoinClass("join", c, b.Add("patches.double", patches, patches));
}

Program XcitProgram(const v1::ModelConfig& config) {
  const v1::XcitConfig& xcit = config.xcit();
  Builder b(config.preprocessing().channels());
  b.DrawsFirst({"stem", "positions", "head", "class_token", "codes"});
  const bool shares_codes = xcit.embedding() == v1::XcitConfig::F_SNE && !xcit.codes_per_block();
  Value x = b.FourierPosition("positions", ConvolutionStem(b, xcit.patch(), xcit.width()));
  x = b.Drop(x, Place::kPositions, (xcit.depth() + xcit.class_depth()) * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  const Value c = b.ClassToken("class_token", xcit.width(), {program::Initial::Kind::kTruncatedNormal, 0.02});
  const int codes = shares_codes ? Codes(b, xcit) : -1;
  for (int i = 0; i < xcit.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return Block(b, xcit, codes, x); });
  }
  x = b.JoinClass("join", c, x);
  for (int i = 0; i < xcit.class_depth(); ++i) {
    x = b.Block(absl::StrCat("class_blocks.", i), [&] { return ClassBlock(b, xcit, x); });
  }
  b.Enter(program::Part::kHead);
  x = b.LayerNorm("norm", x, kXcitNormEpsilon);
  b.FinalTokens(x);
  return b.Take(b.Linear("head", b.TakeClass(x), config.classes()));
}

// Checks that the embedding sizes are valid for the embedding kind.
absl::Status ValidateEmbedding(const v1::XcitConfig& xcit) {
  const bool linear =
      xcit.embedding() == v1::XcitConfig::LINEAR || xcit.embedding() == v1::XcitConfig::EMBEDDING_UNSPECIFIED;
  if (!v1::XcitConfig::Embedding_IsValid(xcit.embedding())) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.xcit.embedding is ", int{xcit.embedding()}, ", which is not a kind of embedding"));
  }
  if (linear && (xcit.embedding_width() != 0 || xcit.embedding_layers() != 0)) {
    return absl::InvalidArgumentError(
        "config.xcit.embedding is LINEAR; leave embedding_width and embedding_layers out");
  }
  if (!linear) RETURN_IF_ERROR(CheckRange("xcit.embedding_width", xcit.embedding_width(), 1, 16384));
  if (xcit.embedding_layers() != 0) {
    const int most = xcit.embedding() == v1::XcitConfig::SNE ? 4 : 2;
    RETURN_IF_ERROR(CheckRange("xcit.embedding_layers", xcit.embedding_layers(), 2, most));
  }
  if (xcit.embedding() == v1::XcitConfig::F_SNE) return CheckRange("xcit.code_length", xcit.code_length(), 1, 16384);
  if (xcit.code_length() != 0 || xcit.codes_per_block()) {
    return absl::InvalidArgumentError(
        "config.xcit.code_length or codes_per_block is set; only embedding F_SNE has codes");
  }
  return absl::OkStatus();
}

absl::Status ValidateXcit(const v1::ModelConfig& config) {
  const v1::XcitConfig& xcit = config.xcit();
  RETURN_IF_ERROR(ValidateStem("xcit", xcit.patch(), xcit.width()));
  RETURN_IF_ERROR(CheckRange("xcit.depth", xcit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("xcit.class_depth", xcit.class_depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("xcit.heads", xcit.heads(), 1, xcit.width()));
  RETURN_IF_ERROR(CheckMultiple("xcit.width", xcit.width(), "xcit.heads", xcit.heads()));
  RETURN_IF_ERROR(CheckRange("xcit.mlp_width", xcit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckInitialScale("xcit.layer_scale", xcit.layer_scale()));
  RETURN_IF_ERROR(ValidateEmbedding(xcit));
  return ValidateCell(config, "xcit.patch", xcit.patch());
}

}  // namespace

Family XcitFamily() {
  return {v1::ModelConfig::kXcit, "xcit", ValidateXcit, zoo::XcitRows, XcitProgram};
}

}  // namespace vitrine
