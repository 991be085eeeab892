// SPDX-License-Identifier: Apache-2.0
// EIT, efficient inductive transformer: a convolution before the patches (EIT^P), and blocks that apply convolution to
// some channels and attention to the other channels (EIT^T). By default, the first block applies convolution to most
// channels, and the last block applies attention to all channels.
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

// Returns true if the option is on. An option that is not set is on.
bool ConvolvesPixels(const v1::EitConfig& eit) {
  return !eit.has_conv_projection() || eit.conv_projection();
}
bool ConvolvesChannels(const v1::EitConfig& eit) {
  return !eit.has_conv_channels() || eit.conv_channels();
}
bool HasPositions(const v1::EitConfig& eit) {
  return !eit.has_positions() || eit.positions();
}

// Returns a_i, the number of channels with attention in block i = 1..L. C channels are C // h units of h channels:
//   DECREASING  floor((C // h) * i / L) * h
//   INCREASING  floor((C // h) * (L - i) / L) * h
//   INVARIANT   floor((C // h) / 2) * h
// In the last block, a_L = C for all three schedules.
int AttentionChannels(const v1::EitConfig& eit, int block) {
  if (!ConvolvesChannels(eit) || block == eit.depth()) return eit.width();
  const int units = eit.width() / eit.heads();
  switch (eit.schedule()) {
    case v1::EitConfig::INCREASING:
      return units * (eit.depth() - block) / eit.depth() * eit.heads();
    case v1::EitConfig::INVARIANT:
      return units / 2 * eit.heads();
    default:
      return units * block / eit.depth() * eit.heads();
  }
}

// Applies the convolution to the first channels, with the operators that Table 7 of the paper lists before and after
// the convolution. NOTE: class tokens are not on the grid, so the result for a class token is LN(x), to which the
// residual adds x.
Value Convolved(Builder& b, v1::EitConfig::Convolution kind, Value u) {
  return b.Within("convolution", [&] {
    if (kind == v1::EitConfig::CONV_CONV) {
      const Value first = b.ConvolveGrid("", u, /*depthwise=*/false);
      return b.ConvolveGrid("third", b.ConvolveGrid("second", first, false), false);  // W3 * (W2 * (W * u))
    }
    if (kind == v1::EitConfig::GELU_CONV) {
      b.DrawsFirst({"weight"});
      return OnCells(b, u, [&](Value cells) {
        return b.ConvolveGrid("", b.Gelu("gelu", b.Linear("linear", cells, b.columns(u))), false);
      });
    }
    if (kind == v1::EitConfig::BN_RELU) {
      return OnCells(b, u, [&](Value cells) {
        return b.Relu("relu", b.BatchNorm("batch_norm", b.ConvolveGrid("", cells, false)));
      });
    }
    return b.ConvolveGrid("", u, false);
  });
}

Value Block(Builder& b, const v1::EitConfig& eit, int attended, Value x) {
  b.DrawsFirst({"feed_forward"});
  return SplitBlock(b, x, eit.mlp_width(), [&](Value u) {
    const int convolved = eit.width() - attended;
    if (eit.parallel_convolution()) {
      const Value side = Convolved(b, v1::EitConfig::CONV, u);
      return b.Add("parallel.add", SelfAttention(b, u, eit.heads()), side);
    }
    if (convolved == 0) return SelfAttention(b, u, eit.heads());
    const Value branch = Convolved(b, eit.convolution(), b.Columns(u, 0, convolved));
    const Value attention = SelfAttention(b, b.Columns(u, convolved, attended), eit.heads());
    return b.Concatenate("concatenate", {branch, attention});  // [conv(u_1..c), attn(u_c+1..C)]
  });
}

Value Patches(Builder& b, const v1::EitConfig& eit) {
  if (!ConvolvesPixels(eit)) return LinearPatches(b, eit.pool(), eit.width());
  const program::Convolve convolve = {.pool = eit.pool(), .channels_last = true};
  return b.ToTokens(b.Convolve("patches", b.images(), eit.width(), convolve, /*bias=*/true));
}

Program EitProgram(const v1::ModelConfig& config) {
  const v1::EitConfig& eit = config.eit();
  Builder b(config.preprocessing().channels());
  const Grid table = HasPositions(eit) ? Grid{eit.grid_rows(), eit.grid_columns()} : Grid();
  Value x = EitTokens(b, Patches(b, eit), table, eit.depth());
  for (int i = 0; i < eit.depth(); ++i) {
    x = b.Block(absl::StrCat("blocks.", i), [&] { return Block(b, eit, AttentionChannels(eit, i + 1), x); });
  }
  return EitHead(b, x, config.classes());
}

// Checks the enumerations, options that exclude each other, and the position table.
absl::Status ValidateOptions(const v1::EitConfig& eit) {
  RETURN_IF_ERROR(CheckRange("eit.schedule", eit.schedule(), 0, v1::EitConfig::Schedule_MAX));
  RETURN_IF_ERROR(CheckRange("eit.convolution", eit.convolution(), 0, v1::EitConfig::Convolution_MAX));
  const auto refused = [](absl::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat("config.eit.", std::string(fault)));
  };
  if (ConvolvesChannels(eit)) {
    if (eit.parallel_convolution()) return refused("parallel_convolution is true; it needs conv_channels: false");
  } else {
    if (eit.schedule() != 0) return refused("schedule is set; it needs conv_channels: true");
    if (eit.convolution() != 0) return refused("convolution is set; it needs conv_channels: true");
  }
  if (HasPositions(eit)) {
    RETURN_IF_ERROR(CheckRange("eit.grid_rows", eit.grid_rows(), 1, 256));
    return CheckRange("eit.grid_columns", eit.grid_columns(), 1, 256);
  }
  if (eit.grid_rows() != 0 || eit.grid_columns() != 0) {
    return refused("grid_rows and grid_columns are set; they need positions: true");
  }
  return absl::OkStatus();
}

absl::Status ValidateEit(const v1::ModelConfig& config) {
  const v1::EitConfig& eit = config.eit();
  RETURN_IF_ERROR(CheckRange("eit.width", eit.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("eit.depth", eit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit.heads", eit.heads(), 1, eit.width()));
  RETURN_IF_ERROR(CheckMultiple("eit.width", eit.width(), "eit.heads", eit.heads()));
  RETURN_IF_ERROR(CheckRange("eit.mlp_width", eit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("eit.pool", eit.pool(), 1, 15));
  RETURN_IF_ERROR(ValidateOptions(eit));
  RETURN_IF_ERROR(ValidateCell(config, "eit.pool", eit.pool()));
  for (int block = 1; block <= eit.depth(); ++block) {
    if (AttentionChannels(eit, block) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("config.eit: block ", block, " of ", eit.depth(),
                                                     " would attend with no channels; eit.width / eit.heads is ",
                                                     eit.width() / eit.heads(), ", it must be at least ",
                                                     eit.schedule() == v1::EitConfig::INVARIANT ? 2 : eit.depth()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Family EitFamily() {
  return {v1::ModelConfig::kEit, "eit", ValidateEit, zoo::EitRows, EitProgram};
}

}  // namespace vitrine
