// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/status_macros.h"
#include "models/token_tap.h"

namespace vitrine::cuda {
namespace {

constexpr float kLengthEpsilon = 1e-6F;

absl::StatusOr<std::vector<float>> Floats(Device& device, const float* from, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  RETURN_IF_ERROR(device.Download(values.data(), from, values.size() * sizeof(float)));
  return values;
}

// Returns rows of a matrix, [count, columns].
absl::StatusOr<FloatArray> Rows(Device& device, const Matrix& x, int64_t first, int64_t count) {
  FloatArray rows = {.shape = {count, x.columns}};
  if (count == 0) return rows;
  ASSIGN_OR_RETURN(const std::vector<float> all,
                   Floats(device, x.data + first * x.stride, (count - 1) * x.stride + x.columns));
  for (int64_t row = 0; row < count; ++row) {
    const auto begin = all.begin() + row * x.stride;
    rows.values.insert(rows.values.end(), begin, begin + x.columns);
  }
  return rows;
}

absl::StatusOr<FloatArray> RowsOfImage(Device& device, const BatchRows& batch, const Matrix& x, int image) {
  const int64_t first = batch.FirstRow(x.rows, image);
  return Rows(device, x, first, batch.FirstRow(x.rows, image + 1) - first);
}

// Calls take(image) for each image whose attention maps are requested.
template <class Take>
absl::Status ForWanted(const BatchRows& batch, const Taps& taps, AttentionSource source, int layer, Take take) {
  for (int image = 0; image < batch.count(); ++image) {
    if (taps.attention == nullptr || !taps.attention->Wants(image, source, layer)) continue;
    RETURN_IF_ERROR(take(image));
  }
  return absl::OkStatus();
}

// Returns an image's matrices, [heads, channels of q, channels of k].
absl::StatusOr<FloatArray> MatricesOf(Device& device, const ChannelArguments& arguments, const float* matrices,
                                      int image) {
  const int64_t width = arguments.q.columns / arguments.heads, each = width * width, all = arguments.heads * each;
  ASSIGN_OR_RETURN(const std::vector<float> values, Floats(device, matrices + image * all, all));
  FloatArray transposed = {.shape = {arguments.heads, width, width}};
  for (int64_t i = 0; i < all; ++i) {  // `values`: [channels of k, channels of q]
    transposed.values.push_back(values[static_cast<size_t>(i / each * each + i % width * width + i % each / width)]);
  }
  return transposed;
}

}  // namespace

TakeTap TapOfTokens(const Matrix& x, int stage) {
  return [=](Device& device, const BatchRows& batch, const Taps& taps) -> absl::Status {
    if (taps.tokens == nullptr || !taps.tokens->Wants(stage)) return absl::OkStatus();
    ASSIGN_OR_RETURN(FloatArray rows, Rows(device, x, 0, batch.Rows(x.rows)));
    const int prefix = x.rows == RowsOf::kTokens ? batch.prefix : 0;
    taps.tokens->Put(stage, {std::move(rows), TokenLayout::Make(batch.grids, prefix)});
    return absl::OkStatus();
  };
}

int64_t ScoresAtOnce(const AttendArguments& arguments, int64_t keys) {
  constexpr int64_t kScores = 1 << 14;
  return std::max(kScores, arguments.heads * keys);
}

TakeTap TapOfMaps(const AttendArguments& arguments, bool class_query, int layer, int64_t scores_at_once) {
  const AttentionSource source = class_query ? AttentionSource::kClassQuery : AttentionSource::kTokens;
  return [=](Device& device, const BatchRows& batch, const Taps& taps) {
    return ForWanted(batch, taps, source, layer, [&](int image) -> absl::Status {
      const auto rows = [&](const Matrix& x) {
        return batch.FirstRow(x.rows, image + 1) - batch.FirstRow(x.rows, image);
      };
      const int64_t heads = arguments.heads, keys = rows(arguments.k), queries = class_query ? 1 : rows(arguments.q);
      const int64_t at_once = scores_at_once / (heads * keys);
      AttendArguments part = arguments;
      part.image = image;
      part.weights = part.scores + scores_at_once;
      AttentionTap::Matrices matrices;
      for (FloatArray* to : {&matrices.scores, &matrices.weights}) {
        to->shape = {heads, queries, keys};
        to->values.resize(static_cast<size_t>(heads * queries * keys));
      }
      for (int64_t first = 0; first < queries; first += at_once) {
        part.first_query = static_cast<int>(first);
        part.queries = static_cast<int>(std::min(at_once, queries - first));
        RETURN_IF_ERROR(device.Run(MakeLaunch("attention tap", "vitrine_attend_map", part)));
        const int64_t of_head = part.queries * keys;
        for (const auto& [from, to] : {std::pair(part.scores, &matrices.scores), {part.weights, &matrices.weights}}) {
          ASSIGN_OR_RETURN(const std::vector<float> values, Floats(device, from, heads * of_head));
          for (int64_t head = 0; head < heads; ++head) {
            std::copy_n(values.begin() + head * of_head, of_head, to->values.begin() + (head * queries + first) * keys);
          }
        }
      }
      taps.attention->Put(image, source, layer, std::move(matrices));
      return absl::OkStatus();
    });
  };
}

TakeTap TapOfChannels(const ChannelArguments& arguments, int layer, bool weights) {
  return [=](Device& device, const BatchRows& batch, const Taps& taps) {
    return ForWanted(batch, taps, AttentionSource::kChannels, layer, [&](int image) -> absl::Status {
      AttentionTap::Matrices matrices;
      if (weights) matrices = *taps.attention->Find(image, AttentionSource::kChannels, layer);
      ASSIGN_OR_RETURN((weights ? matrices.weights : matrices.scores),
                       MatricesOf(device, arguments, arguments.matrices, image));
      taps.attention->Put(image, AttentionSource::kChannels, layer, std::move(matrices));
      return absl::OkStatus();
    });
  };
}

TakeTap TapOfFastChannels(const Launch& launch, const ChannelArguments& arguments, int layer) {
  Launch with_matrices = MakeLaunch("attention tap", launch.kernel, arguments);
  with_matrices.threads = launch.threads;
  with_matrices.shared_bytes = launch.shared_bytes;
  return [=](Device& device, const BatchRows& batch, const Taps& taps) {
    bool has_run = false;
    return ForWanted(batch, taps, AttentionSource::kChannels, layer, [&](int image) -> absl::Status {
      if (!std::exchange(has_run, true)) RETURN_IF_ERROR(device.Run(with_matrices));
      AttentionTap::Matrices matrices;
      ASSIGN_OR_RETURN(matrices.scores, MatricesOf(device, arguments, arguments.scores, image));
      ASSIGN_OR_RETURN(matrices.weights, MatricesOf(device, arguments, arguments.matrices, image));
      taps.attention->Put(image, AttentionSource::kChannels, layer, std::move(matrices));
      return absl::OkStatus();
    });
  };
}

TakeTap TapOfFactors(const ChannelArguments& arguments, const program::AttendLinearly& attend,
                     std::vector<float> context_scale) {
  const AttentionSource source = attend.class_query ? AttentionSource::kClassQuery : AttentionSource::kTokens;
  const int layer = attend.layer;
  return [=, scale = std::move(context_scale)](Device& device, const BatchRows& batch, const Taps& taps) {
    return ForWanted(batch, taps, source, layer, [&](int image) -> absl::Status {
      const int64_t heads = arguments.heads, width = arguments.q.columns / heads, each = width * width;
      ASSIGN_OR_RETURN(const FloatArray q, RowsOfImage(device, batch, arguments.q, image));
      ASSIGN_OR_RETURN(const FloatArray k, RowsOfImage(device, batch, arguments.k, image));
      ASSIGN_OR_RETURN(
          const std::vector<float> factors,
          Floats(device, arguments.factors + batch.FirstRow(arguments.q.rows, image) * heads, q.shape[0] * heads));
      ASSIGN_OR_RETURN(const std::vector<float> contexts,
                       Floats(device, arguments.matrices + image * heads * each, heads * each));
      AttentionTap::Matrices matrices;
      matrices.queries.shape = {heads, q.shape[0], width};
      matrices.keys.shape = {heads, k.shape[0], width};
      for (int64_t head = 0; head < heads; ++head) {
        std::vector<float> of_context(static_cast<size_t>(width), 1.0F);
        for (int64_t i = 0; i < width && arguments.over_values; ++i) {
          double squares = 0;
          for (int64_t c = 0; c < width; ++c) {
            const double value = contexts[static_cast<size_t>(head * each + i * width + c)];
            squares += value * value;
          }
          of_context[static_cast<size_t>(i)] =
              scale[static_cast<size_t>(head)] /
              (arguments.normalizes ? static_cast<float>(std::sqrt(squares)) + kLengthEpsilon : 1.0F);
        }
        for (int64_t row = 0; row < q.shape[0]; ++row) {
          const float factor = factors[static_cast<size_t>(row * heads + head)];
          for (int64_t c = 0; c < width; ++c) {
            const float value = q[row][static_cast<size_t>(head * width + c)] * factor;
            matrices.queries.values.push_back(value * of_context[static_cast<size_t>(c)]);
          }
        }
        for (int64_t row = 0; row < k.shape[0]; ++row) {
          const std::span<const float> keys =
              k[row].subspan(static_cast<size_t>(head * width), static_cast<size_t>(width));
          matrices.keys.values.insert(matrices.keys.values.end(), keys.begin(), keys.end());
        }
      }
      taps.attention->Put(image, source, layer, std::move(matrices));
      return absl::OkStatus();
    });
  };
}

}  // namespace vitrine::cuda
