// SPDX-License-Identifier: Apache-2.0
// Attention among channels in bf16: q, k, v and the softmax weights are rounded. Sums, lengths and the softmax are
// fp32.
#include <algorithm>

#include "models/engine/cpu/steps/attend_channels.h"
#include "models/engine/cpu/steps/layer.h"
#include "models/engine/cpu/steps/narrow_product.h"

namespace vitrine::engine {
namespace {

class AttendChannelsNarrowly : public AttendChannels {
 public:
  AttendChannelsNarrowly(const AttendChannelsStep& step, const NarrowKernels& kernels)
      : AttendChannels(step), kernels_(kernels) {}

  int64_t Scratch(const Frame& frame) const override {
    const int64_t columns = Columns(), width = head_width();
    return AttendChannels::Scratch(frame) + columns +
           std::max(2 * GroupsOf(frame.most_tokens()) * columns,
                    GroupsOf(width) * columns + kChunkRows * GroupsOf(width));
  }

 protected:
  // Multiplies without transposing k, because a column of a panel of k is a row of k^T.
  void Correlate(const Frame& /*frame*/, View<const float> k, View<const float> q, View<float> weights,
                 float* scratch) const override {
    const float* const zeros = PutZeros(scratch);
    const int64_t groups = GroupsOf(k.rows), width = k.columns;
    auto* const keys = reinterpret_cast<std::byte*>(scratch + Columns());
    std::byte* const queries = keys + groups * Columns() * kGroupBytes;
    kernels_.pack_inputs(k, keys);
    kernels_.pack_inputs(q, queries);
    for (int64_t first = 0; first < width; first += kernels_.panel_columns) {
      const int64_t rows = std::min<int64_t>(kernels_.panel_columns, width - first);
      const NarrowRows transposed{.data = keys + first * groups * kGroupBytes,
                                  .stride = kGroupBytes,
                                  .groups = groups,
                                  .group_stride = WholeVectors(kernels_, rows) * kGroupBytes};
      MultiplyBf16(kernels_, transposed, queries, zeros, RowsFrom(weights, first, rows));
    }
  }

  void Mix(const Frame& /*frame*/, View<const float> v, View<const float> weights, View<float> y,
           float* scratch) const override {
    const float* const zeros = PutZeros(scratch);
    const int64_t groups = GroupsOf(v.columns);
    auto* const panels = reinterpret_cast<std::byte*>(scratch + Columns());
    std::byte* const values = panels + groups * Columns() * kGroupBytes;
    kernels_.pack_inputs(weights, panels);
    for (int64_t first = 0; first < v.rows; first += kChunkRows) {
      const int64_t rows = std::min(kChunkRows, v.rows - first);
      kernels_.take(RowsFrom(v, first, rows), -1, values, groups * kGroupBytes, nullptr);
      MultiplyBf16(kernels_, {values, groups * kGroupBytes, groups}, panels, zeros, RowsFrom(y, first, rows));
    }
  }

 private:
  // Returns the number of columns of a head, padded to whole vectors.
  int64_t Columns() const { return WholeVectors(kernels_, head_width()); }

  const float* PutZeros(float* scratch) const {
    std::fill(scratch, scratch + Columns(), 0.0f);
    return scratch;
  }

  const NarrowKernels& kernels_;
};

}  // namespace

StepPtr MakeAttendChannels(const AttendChannelsStep& step, const NarrowKernels* bf16) {
  if (bf16 == nullptr) return std::make_unique<AttendChannels>(step);
  return std::make_unique<AttendChannelsNarrowly>(step, *bf16);
}

}  // namespace vitrine::engine
