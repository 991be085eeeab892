// SPDX-License-Identifier: Apache-2.0
// XCiT's cross-covariance attention.
#include "models/engine/cpu/steps/attend_channels.h"

#include <utility>

namespace vitrine::engine {
namespace {

// Minimum length by which a channel is divided.
constexpr float kLeastLength = 1e-12f;

// Appends the transpose of `weights`: [channel of q, channel of k].
void Append(View<const float> weights, FloatArray& to) {
  for (int64_t i = 0; i < weights.columns; ++i) {
    for (int64_t j = 0; j < weights.rows; ++j) to.values.push_back(weights.Row(j)[i]);
  }
}

}  // namespace

int64_t AttendChannels::Scratch(const Frame&) const {
  return 2 * step_.q.columns + head_width() * head_width();
}

StepCost AttendChannels::CostOn(const Frame& frame) const {
  return {.kind = StepKind::kProduct,
          .precision = step_.precision,
          .multiply_adds = 2 * frame.At(step_.q).rows * step_.q.columns * head_width()};
}

void AttendChannels::Run(const Frame& frame) const {
  const int64_t width = head_width();
  float* const inverse_q = frame.scratch();
  float* const inverse_k = inverse_q + step_.q.columns;
  const View<float> weights{inverse_k + step_.q.columns, width, width, width};
  float* const scratch = weights.data + width * width;
  const Segment heads = frame.Share(step_.attend.heads);
  if (heads.count == 0) return;
  const auto of_heads = [&](View<float> x) {
    return View<float>{x.data + heads.first * width, x.rows, heads.count * width, x.stride};
  };
  for (int image = 0; image < frame.images(); ++image) {
    const View<float> q = frame.Of(step_.q, image), k = frame.Of(step_.k, image), v = frame.Of(step_.v, image);
    const bool watched = frame.Watched(image, AttentionSource::kChannels, step_.attend.layer);
    AttentionTap::Matrices matrices;
    frame.kernels().inverse_lengths(of_heads(q), kLeastLength, inverse_q + heads.first * width);
    frame.kernels().inverse_lengths(of_heads(k), kLeastLength, inverse_k + heads.first * width);
    for (int64_t head = heads.first; head < heads.first + heads.count; ++head) {
      Correlate(frame, Head(k, head, width), Head(q, head, width), weights, scratch);
      Scale(head, inverse_q + head * width, inverse_k + head * width, weights);
      if (watched) Append(weights, matrices.scores);
      frame.kernels().softmax_columns(weights.data, width, width);
      if (watched) Append(weights, matrices.weights);
      Mix(frame, Head(v, head, width), weights, Head(frame.Of(step_.y, image), head, width), scratch);
    }
    if (!watched) continue;
    matrices.scores.shape = matrices.weights.shape = {step_.attend.heads, width, width};
    frame.attention->Put(frame.first_image() + image, AttentionSource::kChannels, step_.attend.layer,
                         std::move(matrices));
  }
}

void AttendChannels::Correlate(const Frame& frame, View<const float> k, View<const float> q, View<float> weights,
                               float* /*scratch*/) const {
  ProductOverRows(frame, k, q, weights.data, weights.stride);
}

void AttendChannels::Mix(const Frame& frame, View<const float> v, View<const float> weights, View<float> y,
                         float* /*scratch*/) const {
  ProductOfRows(frame, v, weights.data, weights.stride, y);
}

void AttendChannels::Scale(int64_t head, const float* inverse_q, const float* inverse_k, View<float> weights) const {
  for (int64_t row = 0; row < weights.rows; ++row) {
    const float factor = step_.temperature[static_cast<size_t>(head)] * inverse_k[row];
    float* const scores = weights.Row(row);
    for (int64_t c = 0; c < weights.columns; ++c) scores[c] *= factor * inverse_q[c];
  }
}

}  // namespace vitrine::engine
