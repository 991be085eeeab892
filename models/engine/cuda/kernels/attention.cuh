// SPDX-License-Identifier: Apache-2.0
// Plain kernels of softmax attention among tokens. A row has the columns of all heads, side by side.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_ATTENTION_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_ATTENTION_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

enum class AttendOrder {
  kTokens,  // fp32, each sum in one sequence of additions
  kClass,   // fp32, each sum in 16 partial sums, like the CPU for a single query
  kBf16,    // q, k, v and weights rounded to bf16
};

// The scores of one query of one head.
class Scores {
 public:
  VITRINE_DEVICE Scores(const AttendArguments& arguments, const Images& images, int image, int query, int head,
                        AttendOrder order)
      : arguments_(arguments),
        order_(order),
        width_(arguments.q.columns / arguments.heads),
        first_key_(images.FirstRow(arguments.k.rows, image)),
        keys_(images.RowsIn(arguments.k.rows, image)),
        column_(head * width_),
        query_(images.FirstRow(arguments.q.rows, image) + query),
        q_(RowOf(arguments.q, query_) + column_) {}

  VITRINE_DEVICE int keys() const { return keys_; }
  VITRINE_DEVICE int width() const { return width_; }
  VITRINE_DEVICE int column() const { return column_; }

  // Returns the score of a key. Bf16 scores are multiplied by log2(e), so that the softmax can use powers of two.
  VITRINE_DEVICE float Of(int key) const {
    constexpr float kLog2OfE = 1.44269504F;
    const bool has_offset = key < arguments_.known_offsets;
    const float offset = has_offset ? Global<const float>(arguments_.offsets)[key] : 0.0F;
    if (order_ == AttendOrder::kBf16) {
      return Fma(Product(key), kLog2OfE * arguments_.scale, has_offset ? kLog2OfE * offset : 0.0F);
    }
    const float score = Product(key);
    return has_offset ? score + offset : score;
  }

  // Returns `scale` times the dot product of q and k; for AttendOrder::kBf16, only the dot product.
  VITRINE_DEVICE float Product(int key) const {
    if (arguments_.q.narrow) return NarrowProduct(key);
    const Global<const float> k = RowOf(arguments_.k, first_key_ + key) + column_;
    float sum = 0;
    if (order_ == AttendOrder::kClass) {
      float lanes[kLanes] = {};
      for (int c = 0; c < width_; ++c) lanes[c % kLanes] = Fma(k[c], arguments_.scale * q_[c], lanes[c % kLanes]);
      return SumOfLanes(lanes);
    }
    for (int c = 0; c < width_; ++c) {
      sum = order_ == AttendOrder::kBf16 ? Fma(RoundToBf16(q_[c]), RoundToBf16(k[c]), sum)
                                         : Fma(k[c], arguments_.scale * q_[c], sum);
    }
    return sum;
  }

  // Returns `scale` times the dot product of rows that are bf16 in memory. Only vitrine_attend_map gets rows in bf16.
  VITRINE_DEVICE float NarrowProduct(int key) const {
    const Global<const uint16_t> q = NarrowRowOf(arguments_.q, query_) + column_;
    const Global<const uint16_t> k = NarrowRowOf(arguments_.k, first_key_ + key) + column_;
    float sum = 0;
    for (int c = 0; c < width_; ++c) sum = Fma(FromBf16(k[c]), arguments_.scale * FromBf16(q[c]), sum);
    return sum;
  }

  // Calls act(key, weight) for each key. Makes three passes over the keys. Each pass computes the scores again, because
  // no memory stores them.
  template <class Act>
  VITRINE_DEVICE void ForWeights(Act act) const {
    float largest = Of(0);
    for (int key = 1; key < keys_; ++key) largest = Most(largest, Of(key));
    const auto power = [&](int key) {
      const float below = Of(key) - largest;
      return order_ == AttendOrder::kBf16 ? PowerOfTwo(below) : Exp(below);
    };
    float sum = 0;
    if (order_ == AttendOrder::kClass) {
      float lanes[kLanes] = {};
      for (int key = 0; key < keys_; ++key) lanes[key % kLanes] += power(key);
      sum = SumOfLanes(lanes);
    } else {
      for (int key = 0; key < keys_; ++key) sum += power(key);
    }
    const float factor = 1 / sum;
    for (int key = 0; key < keys_; ++key) act(key, factor * power(key));
  }

 private:
  const AttendArguments& arguments_;
  const AttendOrder order_;
  const int width_, first_key_, keys_, column_;
  const int query_;  // row of the query
  const Global<const float> q_;
};

// Computes y = softmax(scale q k^T + offsets) v, with one thread per query and head.
VITRINE_DEVICE void Attend(const AttendArguments& arguments, AttendOrder order) {
  const Images images(arguments.batch);
  ForElements(images.Rows(arguments.y.rows), arguments.heads, [&](int row, int head) {
    const int image = images.ImageOf(arguments.y.rows, row);
    const Scores scores(arguments, images, image, row - images.FirstRow(arguments.y.rows, image), head, order);
    const Global<float> y = RowOf(arguments.y, row) + scores.column();
    const int first_value = images.FirstRow(arguments.v.rows, image);
    for (int c = 0; c < scores.width(); ++c) y[c] = 0;
    scores.ForWeights([&](int key, float weight) {
      const Global<const float> v = RowOf(arguments.v, first_value + key) + scores.column();
      const bool narrow = order == AttendOrder::kBf16;
      if (narrow) weight = RoundToBf16(weight);
      for (int c = 0; c < scores.width(); ++c) y[c] = Fma(weight, narrow ? RoundToBf16(v[c]) : v[c], y[c]);
    });
  });
}
VITRINE_KERNEL(vitrine_attend, AttendArguments) {
  Attend(arguments, AttendOrder::kTokens);
}
VITRINE_KERNEL(vitrine_attend_class, AttendArguments) {
  Attend(arguments, AttendOrder::kClass);
}
VITRINE_KERNEL(vitrine_attend_bf16, AttendArguments) {
  Attend(arguments, AttendOrder::kBf16);
}

// Computes scores (without the offsets) and weights of one image in fp32, for an AttentionTap.
VITRINE_KERNEL(vitrine_attend_map, AttendArguments) {
  const Images images(arguments.batch);
  const Global<float> to_scores(arguments.scores), to_weights(arguments.weights);
  ForElements(arguments.queries, arguments.heads, [&](int query, int head) {
    const Scores scores(arguments, images, arguments.image, arguments.first_query + query, head, AttendOrder::kTokens);
    const int64_t first = (int64_t{head} * arguments.queries + query) * scores.keys();
    for (int key = 0; key < scores.keys(); ++key) to_scores[first + key] = scores.Product(key);
    scores.ForWeights([&](int key, float weight) { to_weights[first + key] = weight; });
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_ATTENTION_CUH_
