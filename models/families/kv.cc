// SPDX-License-Identifier: Apache-2.0
// KV transformer, vision classifier (Borji 2022, and its code): attention from keys and values only.
#include <cmath>

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

constexpr double kKvNormEpsilon = 1e-5;
constexpr program::Initial kKvTokenInitial = {program::Initial::Kind::kNormal, 1};

// Adds attention with scores alpha * q k^T; KV uses q = k. In KV+Pos, a linear layer computes the input of the softmax
// from the scores and the positional tensor (models/reference/operators/attention/map_position.h).
Value Attention(Builder& b, const v1::KvConfig& kv, Value u) {
  return b.Within("attention", [&] {
    b.DrawsFirst({"projection", "output"});
    std::vector<int> map;
    if (kv.attention() == v1::KvConfig::KV_POS) {
      const program::Initial initial = {program::Initial::Kind::kUniform, 1 / std::sqrt(kv.position_channels())};
      map = b.Within("map_pos", [&] {
        return std::vector<int>{b.AddWeight("weight", {kv.position_channels()}, initial),
                                b.AddWeight("bias", {1}, initial)};
      });
    }
    const bool queries = kv.attention() == v1::KvConfig::QKV;
    const int across = kv.score_scale() == v1::KvConfig::HEAD_WIDTH ? kv.heads() : 1;
    const Value qkv = b.Linear("projection", u, (queries ? 3 : 2) * int64_t{kv.width()}, /*bias=*/false);
    const program::Attend attend = {.heads = kv.heads(),
                                    .scale = AttentionScale(kv.width(), across),
                                    .shared_key = !queries,
                                    .offers_scores = true};
    return Project(b, b.Attend("mix", {qkv}, attend, map), kv.width(), "output");
  });
}

Value Block(Builder& b, const v1::KvConfig& kv, Value x) {
  x = b.Residual("add", x, Attention(b, kv, b.LayerNorm("norm", x, kKvNormEpsilon)), b.site() + 2);
  return b.Residual("feed_forward.add", x, FeedForward(b, x, kv.mlp_width(), kKvNormEpsilon), b.site());
}

Program KvProgram(const v1::ModelConfig& config) {
  const v1::KvConfig& kv = config.kv();
  Builder b(config.preprocessing().channels());
  b.StartLinears(Builder::LinearInitial::kFanIn);
  b.DrawsFirst({"patches", "positions", "head_in", "head_out", "class_token"});
  Value x = LinearPatches(b, kv.patch(), kv.width());
  x = b.JoinClass("join", b.ClassToken("class_token", kv.width(), kKvTokenInitial), x);
  x = b.TablePosition("positions", x, {kv.grid_rows(), kv.grid_columns()}, kKvTokenInitial);
  x = b.Drop(x, Place::kPositions, kv.depth() * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  for (int i = 0; i < kv.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return Block(b, kv, x); });
  }
  b.Enter(program::Part::kHead);
  b.FinalTokens(x);
  // NOTE: there is no final LayerNorm; the head has a hidden layer of mlp_width.
  const Value hidden = b.Gelu("head_gelu", b.Linear("head_in", b.TakeClass(x), kv.mlp_width()));
  return b.Take(b.Linear("head_out", hidden, config.classes()));
}

absl::Status ValidateKv(const v1::ModelConfig& config) {
  const v1::KvConfig& kv = config.kv();
  RETURN_IF_ERROR(CheckRange("kv.patch", kv.patch(), 1, 256));
  RETURN_IF_ERROR(CheckRange("kv.width", kv.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("kv.depth", kv.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("kv.heads", kv.heads(), 1, kv.width()));
  RETURN_IF_ERROR(CheckMultiple("kv.width", kv.width(), "kv.heads", kv.heads()));
  RETURN_IF_ERROR(CheckRange("kv.mlp_width", kv.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("kv.grid_rows", kv.grid_rows(), 1, 256));
  RETURN_IF_ERROR(CheckRange("kv.grid_columns", kv.grid_columns(), 1, 256));
  RETURN_IF_ERROR(ValidateCell(config, "kv.patch", kv.patch()));
  switch (kv.attention()) {
    case v1::KvConfig::QKV:
    case v1::KvConfig::KV:
      if (kv.position_channels() == 0) break;
      return absl::InvalidArgumentError("config.kv.position_channels is set; only attention KV_POS has them");
    case v1::KvConfig::KV_POS:
      RETURN_IF_ERROR(CheckRange("kv.position_channels", kv.position_channels(), 3, 1024));
      break;
    default:
      return absl::InvalidArgumentError("config.kv.attention is missing; it must be QKV, KV or KV_POS");
  }
  if (!config.preprocessing().has_fixed()) {
    return absl::InvalidArgumentError(
        "config.preprocessing.fixed is missing; the kv family needs one fixed input size");
  }
  if (config.preprocessing().fixed().height() != kv.grid_rows() * kv.patch() ||
      config.preprocessing().fixed().width() != kv.grid_columns() * kv.patch()) {
    return absl::InvalidArgumentError(
        "config.preprocessing.fixed must be kv.grid_rows x kv.grid_columns patches in size");
  }
  return absl::OkStatus();
}

}  // namespace

Family KvFamily() {
  return {v1::ModelConfig::kKv, "kv", ValidateKv, zoo::KvRows, KvProgram};
}

}  // namespace vitrine
