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
class AttendLinearly : public StepOf<AttendLinearlyStep> {
 public:
  using StepOf::StepOf;

  int64_t Scratch(const Frame& frame) const override {
    const int64_t width = head_width();
    return width * width + width + frame.most_tokens() * width;
  }

  StepCost CostOn(const Frame& frame) const override {
    return {.kind = StepKind::kProduct,
            .multiply_adds = (frame.At(step_.k).rows + frame.At(step_.y).rows) * step_.q.columns * head_width()};
  }

  void Run(const Frame& frame) const override {
    const int64_t width = head_width();
    float* const sums = frame.scratch();  // k^T v, [width, width]
    float* const lengths = sums + width * width;
    float* const queries = lengths + width;
    const Segment heads = frame.Share(step_.attend.heads);
    for (int image = 0; image < frame.images(); ++image) {
      if (frame.Watched(image, SourceOf(step_.attend), step_.attend.layer)) HandOut(frame, image);
      const View<float> y = frame.Of(step_.y, image);
      View<float> q = frame.Of(step_.q, image);
      q.rows = y.rows;  // y has fewer rows if only prefix tokens are needed
      for (int64_t head = heads.first; head < heads.first + heads.count; ++head) {
        ProductOverRows(frame, Head(frame.Of(step_.k, image), head, width), Head(frame.Of(step_.v, image), head, width),
                        sums, width);
        Normalize(frame, step_.context_scale[static_cast<size_t>(head)], {sums, width, width, width}, lengths);
        const View<float> normalized{queries, q.rows, width, width};
        Scale(frame, Head(q, head, width), step_.query_scale[static_cast<size_t>(head)], normalized);
        ProductOfRows(frame, normalized, sums, width, Head(y, head, width));
      }
    }
  }

 private:
  int64_t head_width() const { return step_.q.columns / step_.attend.heads; }

  // Stores two factors of one image's attention matrices in the AttentionTap: the scaled queries and the keys.
  void HandOut(const Frame& frame, int image) const {
    const int64_t width = head_width();
    const View<float> q = frame.Of(step_.q, image), k = frame.Of(step_.k, image), v = frame.Of(step_.v, image);
    float* const sums = frame.scratch();
    float* const queries = sums + width * width + width;
    AttentionTap::Matrices matrices;
    for (int head = 0; head < step_.attend.heads; ++head) {
      const size_t h = static_cast<size_t>(head);
      std::vector<float> factors(static_cast<size_t>(width),
                                 step_.attend.norm == Norm::kNone ? step_.context_scale[h] : 1.0f);
      if (step_.attend.norm == Norm::kValues) {
        ProductOverRows(frame, Head(k, head, width), Head(v, head, width), sums, width);
        for (int64_t i = 0; i < width; ++i) {
          const float* const row = sums + i * width;
          double squares = 0;
          for (int64_t c = 0; c < width; ++c) squares += double{row[c]} * row[c];
          factors[static_cast<size_t>(i)] =
              step_.context_scale[h] / (static_cast<float>(std::sqrt(squares)) + kNormEpsilon);
        }
      }
      const View<float> normalized{queries, q.rows, width, width};
      Scale(frame, Head(q, head, width), step_.query_scale[h], normalized);
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
    matrices.queries.shape = {step_.attend.heads, q.rows, width};
    matrices.keys.shape = {step_.attend.heads, k.rows, width};
    frame.attention->Put(frame.first_image() + image, SourceOf(step_.attend), step_.attend.layer, std::move(matrices));
  }

  // Computes XN of each row.
  void Scale(const Frame& frame, View<const float> x, float scale, View<float> y) const {
    if (step_.attend.norm != Norm::kNone) {
      frame.kernels().scale_to_length(x, scale, kNormEpsilon, y);
      return;
    }
    for (int64_t row = 0; row < x.rows; ++row) {
      for (int64_t c = 0; c < x.columns; ++c) y.Row(row)[c] = x.Row(row)[c] * scale;
    }
  }

  void Normalize(const Frame& frame, float scale, View<float> sums, float* lengths) const {
    if (step_.attend.norm != Norm::kKeys) {
      Scale(frame, sums, scale, sums);
      return;
    }
    frame.kernels().inverse_lengths(sums, 0, lengths);  // infinite for a column of zeros
    for (int64_t c = 0; c < sums.columns; ++c) lengths[c] = scale / (1 / lengths[c] + kNormEpsilon);
    for (int64_t row = 0; row < sums.rows; ++row) {
      for (int64_t c = 0; c < sums.columns; ++c) sums.Row(row)[c] *= lengths[c];
    }
  }
};

}  // namespace

StepPtr MakeAttendLinearly(const AttendLinearlyStep& step) {
  return std::make_unique<AttendLinearly>(step);
}

}  // namespace vitrine::engine
