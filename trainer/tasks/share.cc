// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "trainer/task.h"

namespace vitrine {
namespace {

// Returns a contiguous tensor with every `count`-th row, starting with row `part`. For an undefined tensor, returns an
// undefined tensor.
at::Tensor RowsOf(const at::Tensor& tensor, int part, int count) {
  if (!tensor.defined()) return {};
  return tensor.slice(0, part, std::numeric_limits<int64_t>::max(), count).contiguous();
}

}  // namespace

TrainingBatch ShareOf(const TrainingBatch& batch, int part, int count) {
  TrainingBatch share;
  share.samples = batch.samples > part ? (batch.samples - part + count - 1) / count : 0;
  for (size_t i = part; i < batch.images.size(); i += count) share.images.push_back(batch.images[i]);
  share.sequences.source = RowsOf(batch.sequences.source, part, count);
  share.sequences.target = RowsOf(batch.sequences.target, part, count);
  share.labels = RowsOf(batch.labels, part, count);
  share.targets = RowsOf(batch.targets, part, count);
  share.teacher_labels = RowsOf(batch.teacher_labels, part, count);
  return share;
}

}  // namespace vitrine
