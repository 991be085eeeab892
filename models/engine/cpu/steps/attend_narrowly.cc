// SPDX-License-Identifier: Apache-2.0
// Attention among tokens in bf16: q, k, v and the softmax weights are rounded. Sums and the softmax are fp32.
#include <algorithm>
#include <limits>
#include <vector>

#include "models/engine/cpu/steps/attend.h"
#include "models/engine/cpu/steps/layer.h"
#include "models/engine/cpu/steps/narrow_product.h"

namespace vitrine::engine {
namespace {

constexpr float kLog2OfE = 1.44269504f;

class AttendNarrowly : public Attend {
 public:
  AttendNarrowly(const AttendStep& step, const NarrowKernels& kernels) : Attend(step), kernels_(kernels) {}

  int64_t Scratch(const Frame& frame) const override {
    return std::max(Attend::Scratch(frame), PlacesFor(frame.most_tokens(), nullptr).floats);
  }

 protected:
  void MixHead(const Frame& frame, View<const float> q, View<const float> k, View<const float> v,
               View<float> y) const override {
    const Places at = PlacesFor(k.rows, frame.scratch());
    PutOffsets(k.rows, at);
    kernels_.pack_outputs(k, at.keys);
    kernels_.pack_inputs(v, at.values);
    for (int64_t first = 0; first < y.rows; first += kChunkRows) {
      const int64_t rows = std::min(kChunkRows, y.rows - first);
      const View<float> scores{at.scores, rows, at.columns, at.columns};
      kernels_.take(RowsFrom(q, first, rows), -1, at.queries, at.query_bytes, nullptr);
      MultiplyBf16(kernels_, {at.queries, at.query_bytes, GroupsOf(k.columns)}, at.keys, at.zeros, scores);
      kernels_.softmax_rows(scores, kLog2OfE * scale(), at.offsets, at.weights, at.weight_bytes);
      MultiplyBf16(kernels_, {at.weights, at.weight_bytes, GroupsOf(k.rows)}, at.values, at.zeros,
                   RowsFrom(y, first, rows));
    }
  }

 private:
  // Layout of the scratch for one head of an image.
  struct Places {
    int64_t columns;       // tokens, padded to whole vectors
    int64_t query_bytes;   // bytes per row of queries
    int64_t weight_bytes;  // bytes per row of weights
    float* zeros;          // [max(columns, columns of a head)]
    float* offsets;        // [columns]
    float* scores;         // [chunk, columns]
    std::byte* queries;    // [chunk, groups of a head's columns]
    std::byte* weights;    // [chunk, groups of columns]
    std::byte* keys;       // panels
    std::byte* values;     // panels
    int64_t floats;        // total size of the scratch
  };

  Places PlacesFor(int64_t tokens, float* scratch) const {
    const int64_t width = head_width();
    Places at = {};
    at.columns = WholeVectors(kernels_, tokens);
    at.query_bytes = GroupsOf(width) * kGroupBytes;
    at.weight_bytes = at.columns * int64_t{sizeof(cpu::Bf16)};
    const auto next = [&](int64_t floats) {
      float* const place = scratch == nullptr ? nullptr : scratch + at.floats;
      at.floats += WholeLines(floats);
      return place;
    };
    const auto next_groups = [&](int64_t groups) { return reinterpret_cast<std::byte*>(next(groups)); };
    at.zeros = next(std::max(at.columns, WholeVectors(kernels_, width)));
    at.offsets = next(at.columns);
    at.scores = next(kChunkRows * at.columns);
    at.queries = next_groups(kChunkRows * GroupsOf(width));
    at.weights = next_groups(kChunkRows * GroupsOf(at.columns));
    at.keys = next_groups(GroupsOf(width) * at.columns);
    at.values = next_groups(GroupsOf(tokens) * WholeVectors(kernels_, width));
    return at;
  }

  // Writes `zeros` and `offsets`. The offset of a padding column is minus infinity.
  void PutOffsets(int64_t tokens, const Places& at) const {
    std::fill(at.zeros, at.offsets, 0.0f);
    const std::vector<float>& offsets = step_.key_offsets;
    const int64_t known = std::min(static_cast<int64_t>(offsets.size()), tokens);
    for (int64_t key = 0; key < known; ++key) at.offsets[key] = kLog2OfE * offsets[static_cast<size_t>(key)];
    std::fill(at.offsets + known, at.offsets + tokens, 0.0f);
    std::fill(at.offsets + tokens, at.offsets + at.columns, -std::numeric_limits<float>::infinity());
  }

  const NarrowKernels& kernels_;
};

}  // namespace

StepPtr MakeAttend(const AttendStep& step, const NarrowKernels* bf16) {
  if (bf16 == nullptr) return std::make_unique<Attend>(step);
  return std::make_unique<AttendNarrowly>(step, *bf16);
}

}  // namespace vitrine::engine
