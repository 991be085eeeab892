// SPDX-License-Identifier: Apache-2.0
// Baselines of EIT (Table 4): ViT with another patch projection (of CvT or ViT_C), with other blocks (of LSRA or CvT),
// or with another projection and other blocks. The configurations have the numbers of parameters and FLOPs that the
// paper prints.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/eit_parts.h"
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

int CellOf(const v1::EitBaselineConfig& baseline) {
  return baseline.patches() == v1::EitBaselineConfig::OVERLAPPING ? 2 : 4;
}

// Returns the number of channels with attention in every block. For LSRA with C channels and h heads, it is floor((C //
// h) / 2) * h; for other mixers, it is C.
int AttentionChannels(const v1::EitBaselineConfig& baseline) {
  if (baseline.mixer() != v1::EitBaselineConfig::LSRA) return baseline.width();
  return baseline.width() / baseline.heads() / 2 * baseline.heads();
}

Value Patches(Builder& b, const v1::EitBaselineConfig& baseline) {
  const int64_t width = baseline.width();
  const auto convolve = [&](const char* name, Value x, int kernel, int stride) {
    const program::Convolve settings = {
        .kernel = kernel, .stride = stride, .padding = (kernel - 1) / 2, .channels_last = true};
    return b.Convolve(name, x, width, settings, /*bias=*/true);
  };
  switch (baseline.patches()) {
    case v1::EitBaselineConfig::OVERLAPPING:
      return b.ToTokens(convolve("patches", b.images(), 4, 2));
    case v1::EitBaselineConfig::STEM:  // ViT_C (Xiao et al. 2021), in the form that EIT's parameter count implies
      return b.Within("patches", [&] {
        const Value half = b.Relu("relu1", convolve("conv1", b.images(), 4, 2));
        const Value quarter = b.Relu("relu2", convolve("conv2", half, 4, 2));
        return b.ToTokens(convolve("conv3", quarter, 1, 1));
      });
    default:
      return LinearPatches(b, 4, width);
  }
}

// Returns q, k and v of CvT^T: each comes from a 3x3 convolution over the grid, without bias; a linear layer 3C -> 3C
// follows.
Value ConvolvedQkv(Builder& b, const v1::EitBaselineConfig& baseline, Value u) {
  return b.Within("attention", [&] {
    const std::vector<Value> convolved = {b.ConvolveGrid("conv_q", u, false), b.ConvolveGrid("conv_k", u, false),
                                          b.ConvolveGrid("conv_v", u, false)};
    const Value qkv = b.Linear("qkv", convolved, 3 * int64_t{baseline.width()});
    const program::Attend attend = {.heads = baseline.heads(),
                                    .scale = AttentionScale(baseline.width(), baseline.heads())};
    return Project(b, b.Attend("mix", {qkv}, attend), baseline.width());
  });
}

// Returns LSRA (long-short range attention): [linear(W * GELU(u_1..c)), attn(u_c+1..C)], where W * is a convolution.
Value LongShortRange(Builder& b, const v1::EitBaselineConfig& baseline, Value u) {
  b.DrawsFirst({"feed_forward"});
  const int attended = AttentionChannels(baseline);
  const int convolved = baseline.width() - attended;
  const Value branch = b.Within("convolution", [&] {
    return OnCells(b, b.Columns(u, 0, convolved), [&](Value cells) {
      return b.Linear("linear", b.ConvolveGrid("", b.Gelu("gelu", cells), false), convolved);
    });
  });
  const Value attention = SelfAttention(b, b.Columns(u, convolved, attended), baseline.heads());
  return b.Concatenate("concatenate", {branch, attention});
}

Value Mixed(Builder& b, const v1::EitBaselineConfig& baseline, Value u) {
  switch (baseline.mixer()) {
    case v1::EitBaselineConfig::LSRA:
      return LongShortRange(b, baseline, u);
    case v1::EitBaselineConfig::CONVOLVED_QKV:
      return ConvolvedQkv(b, baseline, u);
    default:
      b.DrawsFirst({"feed_forward"});
      return SelfAttention(b, u, baseline.heads());
  }
}

Program EitBaselineProgram(const v1::ModelConfig& config) {
  const v1::EitBaselineConfig& baseline = config.eit_baseline();
  Builder b(config.preprocessing().channels());
  const Grid table = {baseline.grid_rows(), baseline.grid_columns()};
  Value x = EitTokens(b, Patches(b, baseline), table, baseline.depth());
  for (int i = 0; i < baseline.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i),
                [&] { return SplitBlock(b, x, baseline.mlp_width(), [&](Value u) { return Mixed(b, baseline, u); }); });
  }
  return EitHead(b, x, config.classes());
}

absl::Status ValidateEitBaseline(const v1::ModelConfig& config) {
  const v1::EitBaselineConfig& baseline = config.eit_baseline();
  RETURN_IF_ERROR(CheckRange("eit_baseline.width", baseline.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("eit_baseline.depth", baseline.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit_baseline.heads", baseline.heads(), 1, baseline.width()));
  RETURN_IF_ERROR(CheckMultiple("eit_baseline.width", baseline.width(), "eit_baseline.heads", baseline.heads()));
  RETURN_IF_ERROR(CheckRange("eit_baseline.mlp_width", baseline.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("eit_baseline.patches", baseline.patches(), 1, v1::EitBaselineConfig::Patches_MAX));
  RETURN_IF_ERROR(CheckRange("eit_baseline.mixer", baseline.mixer(), 1, v1::EitBaselineConfig::Mixer_MAX));
  RETURN_IF_ERROR(CheckRange("eit_baseline.grid_rows", baseline.grid_rows(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit_baseline.grid_columns", baseline.grid_columns(), 1, 256));
  if (AttentionChannels(baseline) == 0) {
    return absl::InvalidArgumentError(
        "config.eit_baseline: LSRA would attend with no channels; eit_baseline.width / eit_baseline.heads must be at "
        "least 2");
  }
  return ValidateCell(config, "eit_baseline.patches's cell", CellOf(baseline));
}

}  // namespace

Family EitBaselineFamily() {
  return {v1::ModelConfig::kEitBaseline, "eit-baseline", ValidateEitBaseline, nullptr, EitBaselineProgram};
}

}  // namespace vitrine
