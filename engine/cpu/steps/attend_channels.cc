// SPDX-License-Identifier: Apache-2.0
// Channels that attend to channels, per image and head: XCiT's cross-covariance attention.
#include <utility>

#include "engine/cpu/steps/heads.h"
#include "engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

// Smallest length that a channel is divided by.
constexpr float kLeastLength = 1e-12f;

// softmax(t k^^T q^) over the channels of k.
class AttendChannels : public Step {
 public:
  AttendChannels(const program::AttendChannels& attend, Operand q, Operand k, Operand v, std::vector<float> temperature,
                 Operand y)
      : heads_(attend.heads), layer_(attend.layer), q_(q), k_(k), v_(v), y_(y), temperature_(std::move(temperature)) {
    reads = {q, k, v};
    writes = y;
  }

  int64_t Scratch(const Frame&) const override {
    const int64_t width = q_.columns / heads_;
    return 2 * q_.columns + width * width;
  }

  StepCost CostOn(const Frame& frame) const override {
    return {.kind = StepKind::kProduct, .multiply_adds = 2 * frame.At(q_).rows * q_.columns * (q_.columns / heads_)};
  }

  void Run(const Frame& frame) const override {
    const int64_t width = q_.columns / heads_;
    float* const inverse_q = frame.scratch();
    float* const inverse_k = inverse_q + q_.columns;
    float* const weights = inverse_k + q_.columns;  // [channel of k, channel of q]
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> q = frame.Of(q_, image), k = frame.Of(k_, image), v = frame.Of(v_, image);
      const bool watched = frame.Watched(image, AttentionSource::kChannels, layer_);
      AttentionTap::Matrices matrices;
      frame.kernels().inverse_lengths(q, kLeastLength, inverse_q);
      frame.kernels().inverse_lengths(k, kLeastLength, inverse_k);
      for (int head = 0; head < heads_; ++head) {
        ProductOverRows(frame, Head(k, head, width), Head(q, head, width), weights, width);
        Scale(head, width, inverse_q + head * width, inverse_k + head * width, weights);
        if (watched) Append(weights, width, matrices.scores);
        frame.kernels().softmax_columns(weights, width, width);
        if (watched) Append(weights, width, matrices.weights);
        ProductOfRows(frame, Head(v, head, width), weights, width, Head(frame.Of(y_, image), head, width));
      }
      if (!watched) continue;
      matrices.scores.shape = matrices.weights.shape = {heads_, width, width};
      frame.attention->Put(frame.first_image() + image, AttentionSource::kChannels, layer_, std::move(matrices));
    }
  }

 private:
  // [channel of q, channel of k]
  static void Append(const float* weights, int64_t width, FloatArray& to) {
    for (int64_t i = 0; i < width; ++i) {
      for (int64_t j = 0; j < width; ++j) to.values.push_back(weights[j * width + i]);
    }
  }

  void Scale(int head, int64_t width, const float* inverse_q, const float* inverse_k, float* weights) const {
    for (int64_t row = 0; row < width; ++row) {
      const float factor = temperature_[static_cast<size_t>(head)] * inverse_k[row];
      float* const scores = weights + row * width;
      for (int64_t c = 0; c < width; ++c) scores[c] *= factor * inverse_q[c];
    }
  }

  const int heads_;
  const int layer_;
  const Operand q_, k_, v_, y_;
  const std::vector<float> temperature_;
};

}  // namespace

StepPtr MakeAttendChannels(const program::AttendChannels& attend, Operand q, Operand k, Operand v,
                           std::vector<float> temperature, Operand y) {
  return std::make_unique<AttendChannels>(attend, q, k, v, std::move(temperature), y);
}

}  // namespace vitrine::engine
