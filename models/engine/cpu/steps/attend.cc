// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/steps/attend.h"

#include <algorithm>
#include <utility>

namespace vitrine::engine {
namespace {

// Number of queries that are computed together, so that their attention weights stay in the L1 and L2 caches. The
// number is a multiple of every vector length.
constexpr int64_t kQueries = 48;

}  // namespace

int64_t Attend::Scratch(const Frame& frame) const {
  return (frame.most_tokens() + step_.q.columns) * kQueries;
}

StepCost Attend::CostOn(const Frame& frame) const {
  StepCost cost = {.kind = StepKind::kProduct, .precision = step_.precision};
  for (int image = 0; image < frame.images(); ++image) {
    cost.multiply_adds += 2 * frame.Of(step_.y, image).rows * frame.Of(step_.k, image).rows * step_.q.columns;
  }
  return cost;
}

// Divides the work among the threads of the team by heads if each thread gets the same number of heads, else by
// queries.
void Attend::Run(const Frame& frame) const {
  const int64_t width = head_width();
  const bool by_heads = step_.attend.heads % frame.members() == 0;
  const Segment heads = by_heads ? frame.Share(step_.attend.heads) : Segment{0, step_.attend.heads};
  for (int image = 0; image < frame.images(); ++image) {
    if (frame.Watched(image, SourceOf(step_.attend), step_.attend.layer)) HandOut(frame, image);
    const View<float> y = frame.Of(step_.y, image);  // has fewer rows than q if only prefix tokens are needed
    View<float> q = frame.Of(step_.q, image);
    q.rows = y.rows;
    const Segment queries = by_heads ? Segment{0, y.rows} : frame.Share(y.rows);
    if (queries.count == 0) continue;
    for (int64_t head = heads.first; head < heads.first + heads.count; ++head) {
      const View<const float> k = Head(frame.Of(step_.k, image), head, width),
                              v = Head(frame.Of(step_.v, image), head, width);
      if (step_.attend.class_query) {
        MixOne(frame, Head(q, head, width), k, v, Head(y, head, width));
      } else {
        MixHead(frame, RowsFrom(Head(q, head, width), queries.first, queries.count), k, v,
                RowsFrom(Head(y, head, width), queries.first, queries.count));
      }
    }
  }
}

void Attend::MixHead(const Frame& frame, View<const float> q, View<const float> k, View<const float> v,
                     View<float> y) const {
  for (int64_t first = 0; first < y.rows; first += kQueries) {
    const int64_t queries = std::min(kQueries, y.rows - first);
    float* const weights = Scores(frame, RowsFrom(q, first, queries), k);
    Softmax(frame, weights, k.rows, queries);
    frame.kernels().product({.a = weights,
                             .a_row = 1,
                             .a_inner = queries,
                             .b = v.data,
                             .b_stride = v.stride,
                             .rows = queries,
                             .inner = k.rows,
                             .columns = v.columns,
                             .y = y.Row(first),
                             .y_stride = y.stride});
  }
}

// Computes class attention. Its single query has one row of scores, and the softmax runs along that row.
void Attend::MixOne(const Frame& frame, View<const float> q, View<const float> k, View<const float> v,
                    View<float> y) const {
  float* const weights = frame.scratch();
  float* const scaled = weights + k.rows;
  for (int64_t c = 0; c < q.columns; ++c) scaled[c] = scale() * q.data[c];
  frame.kernels().dots(k, scaled, weights);
  AddOffsets(weights, k.rows, 1);
  frame.kernels().softmax_row(weights, k.rows);
  ProductOfRows(frame, {weights, 1, k.rows, k.rows}, v.data, v.stride, y);
}

// Computes scale * q k^T in scratch, transposed to [keys, queries], so that the softmax computes one query per vector
// lane.
float* Attend::Scores(const Frame& frame, View<const float> q, View<const float> k) const {
  float* const scores = frame.scratch();
  float* const flat = scores + k.rows * q.rows;  // [width, queries], scaled
  for (int64_t c = 0; c < q.columns; ++c) {
    for (int64_t i = 0; i < q.rows; ++i) flat[c * q.rows + i] = scale() * q.Row(i)[c];
  }
  frame.kernels().product({.a = k.data,
                           .a_row = k.stride,
                           .a_inner = 1,
                           .b = flat,
                           .b_stride = q.rows,
                           .rows = k.rows,
                           .inner = k.columns,
                           .columns = q.rows,
                           .y = scores,
                           .y_stride = q.rows});
  return scores;
}

void Attend::AddOffsets(float* scores, int64_t keys, int64_t queries) const {
  for (size_t key = 0; key < std::min(step_.key_offsets.size(), static_cast<size_t>(keys)); ++key) {
    float* const row = scores + static_cast<int64_t>(key) * queries;
    for (int64_t i = 0; i < queries; ++i) row[i] += step_.key_offsets[key];
  }
}

void Attend::Softmax(const Frame& frame, float* scores, int64_t keys, int64_t queries) const {
  AddOffsets(scores, keys, queries);
  frame.kernels().softmax_columns(scores, keys, queries);
}

// Stores the attention matrices of one image in the AttentionTap. The matrices have all queries, even if the model
// needs fewer. They are computed from q and k in fp32, even if the products of the step are bf16.
void Attend::HandOut(const Frame& frame, int image) const {
  const int64_t width = head_width();
  View<float> all = frame.Of(step_.q, image);
  if (step_.attend.class_query) all.rows = 1;  // the class token is the first row
  const View<float> keys = frame.Of(step_.k, image);
  AttentionTap::Matrices matrices;
  const auto append = [](const float* from, int64_t queries, int64_t count, FloatArray& to) {
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < count; ++j) to.values.push_back(from[j * queries + i]);
    }
  };
  for (int head = 0; head < step_.attend.heads; ++head) {
    const View<const float> k = Head(keys, head, width);
    for (int64_t first = 0; first < all.rows; first += kQueries) {
      const View<float> q = RowsFrom(Head(all, head, width), first, std::min(kQueries, all.rows - first));
      float* const scores = Scores(frame, q, k);
      append(scores, q.rows, k.rows, matrices.scores);
      Softmax(frame, scores, k.rows, q.rows);
      append(scores, q.rows, k.rows, matrices.weights);
    }
  }
  matrices.scores.shape = matrices.weights.shape = {step_.attend.heads, all.rows, keys.rows};
  frame.attention->Put(frame.first_image() + image, SourceOf(step_.attend), step_.attend.layer, std::move(matrices));
}

}  // namespace vitrine::engine
