// SPDX-License-Identifier: Apache-2.0
// X-ViT's attention without a softmax, per image and head.
#include <cmath>
#include <utility>

#include "models/engine/cpu/steps/heads.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

// Number added to a length before a vector is divided by it.
constexpr float kNormEpsilon = 1e-6f;

using Norm = program::AttendLinearly::Norm;

// Step that computes XN(q) XN(k^T v). XN scales vectors to a learned length t; with Norm::kNone, it multiplies vectors
// by t.
class AttendLinearly : public Step {
 public:
  AttendLinearly(const program::AttendLinearly& attend, Operand q, Operand k, Operand v, std::vector<float> query_scale,
                 std::vector<float> context_scale, Operand y)
      : heads_(attend.heads),
        layer_(attend.layer),
        source_(attend.class_query ? AttentionSource::kClassQuery : AttentionSource::kTokens),
        norm_(attend.norm),
        q_(q),
        k_(k),
        v_(v),
        y_(y),
        query_scale_(std::move(query_scale)),
        context_scale_(std::move(context_scale)) {}

  int64_t Scratch(const Frame& frame) const override {
    const int64_t width = q_.columns / heads_;
    return width * width + width + frame.most_tokens() * width;
  }

  StepCost CostOn(const Frame& frame) const override {
    return {.kind = StepKind::kProduct,
            .multiply_adds = (frame.At(k_).rows + frame.At(y_).rows) * q_.columns * (q_.columns / heads_)};
  }

  void Run(const Frame& frame) const override {
    const int64_t width = q_.columns / heads_;
    float* const sums = frame.scratch();  // k^T v, [width, width]
    float* const lengths = sums + width * width;
    float* const queries = lengths + width;
    const Segment heads = frame.Share(heads_);
    for (int image = 0; image < frame.images(); ++image) {
      if (frame.Watched(image, source_, layer_)) HandOut(frame, image);
      const View<float> y = frame.Of(y_, image);
      View<float> q = frame.Of(q_, image);
      q.rows = y.rows;  // y has fewer rows if only prefix tokens are needed
      for (int64_t head = heads.first; head < heads.first + heads.count; ++head) {
        ProductOverRows(frame, Head(frame.Of(k_, image), head, width), Head(frame.Of(v_, image), head, width), sums,
                        width);
        Normalize(frame, context_scale_[static_cast<size_t>(head)], {sums, width, width, width}, lengths);
        const View<float> normalized{queries, q.rows, width, width};
        Scale(frame, Head(q, head, width), query_scale_[static_cast<size_t>(head)], normalized);
        ProductOfRows(frame, normalized, sums, width, Head(y, head, width));
      }
    }
  }

 private:
  // Stores two factors of one image's attention matrices in the AttentionTap: the scaled queries and the keys.
  void HandOut(const Frame& frame, int image) const {
    const int64_t width = q_.columns / heads_;
    const View<float> q = frame.Of(q_, image), k = frame.Of(k_, image), v = frame.Of(v_, image);
    float* const sums = frame.scratch();
    float* const queries = sums + width * width + width;
    AttentionTap::Matrices matrices;
    for (int head = 0; head < heads_; ++head) {
      const size_t h = static_cast<size_t>(head);
      std::vector<float> factors(static_cast<size_t>(width), norm_ == Norm::kNone ? context_scale_[h] : 1.0f);
      if (norm_ == Norm::kValues) {
        ProductOverRows(frame, Head(k, head, width), Head(v, head, width), sums, width);
        for (int64_t i = 0; i < width; ++i) {
          const float* const row = sums + i * width;
          double squares = 0;
          for (int64_t c = 0; c < width; ++c) squares += double{row[c]} * row[c];
          factors[static_cast<size_t>(i)] = context_scale_[h] / (static_cast<float>(std::sqrt(squares)) + kNormEpsilon);
        }
      }
      const View<float> normalized{queries, q.rows, width, width};
      Scale(frame, Head(q, head, width), query_scale_[h], normalized);
      for (int64_t row = 0; row < q.rows; ++row) {
        for (size_t c = 0; c < factors.size(); ++c) {
          matrices.queries.values.push_back(normalized.Row(row)[c] * factors[c]);
        }
      }
      for (int64_t row = 0; row < k.rows; ++row) {
        const float* const values = Head(k, head, width).Row(row);
        matrices.keys.values.insert(matrices.keys.values.end(), values, values + width);
      }
    }
    matrices.queries.shape = {heads_, q.rows, width};
    matrices.keys.shape = {heads_, k.rows, width};
    frame.attention->Put(frame.first_image() + image, source_, layer_, std::move(matrices));
  }

  // Computes XN of each row.
  void Scale(const Frame& frame, View<const float> x, float scale, View<float> y) const {
    if (norm_ != Norm::kNone) {
      frame.kernels().scale_to_length(x, scale, kNormEpsilon, y);
      return;
    }
    for (int64_t row = 0; row < x.rows; ++row) {
      for (int64_t c = 0; c < x.columns; ++c) y.Row(row)[c] = x.Row(row)[c] * scale;
    }
  }

  void Normalize(const Frame& frame, float scale, View<float> sums, float* lengths) const {
    if (norm_ != Norm::kKeys) {
      Scale(frame, sums, scale, sums);
      return;
    }
    frame.kernels().inverse_lengths(sums, 0, lengths);  // infinite for a column of zeros
    for (int64_t c = 0; c < sums.columns; ++c) lengths[c] = scale / (1 / lengths[c] + kNormEpsilon);
    for (int64_t row = 0; row < sums.rows; ++row) {
      for (int64_t c = 0; c < sums.columns; ++c) sums.Row(row)[c] *= lengths[c];
    }
  }

  const int heads_;
  const int layer_;
  const AttentionSource source_;
  const Norm norm_;
  const Operand q_, k_, v_, y_;
  const std::vector<float> query_scale_, context_scale_;
};

}  // namespace

StepPtr MakeAttendLinearly(const program::AttendLinearly& attend, Operand q, Operand k, Operand v,
                           std::vector<float> query_scale, std::vector<float> context_scale, Operand y) {
  return std::make_unique<AttendLinearly>(attend, q, k, v, std::move(query_scale), std::move(context_scale), y);
}

}  // namespace vitrine::engine
