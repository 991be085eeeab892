// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/decode.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "common/status_macros.h"

namespace vitrine {

absl::StatusOr<std::vector<std::vector<int64_t>>> GreedyDecode(const SequenceModel& model, const at::Tensor& source,
                                                               DecodeMarks marks, int64_t most) {
  at::Tensor target = at::full({source.size(0), 1}, marks.begin, source.options());
  at::Tensor ended = at::zeros({source.size(0)}, source.options().dtype(at::kBool));
  while (target.size(1) <= most && !ended.all().item<bool>()) {
    ASSIGN_OR_RETURN(const at::Tensor logits, RunSequenceModel(model, {source, target}));
    // A target that has ended is padded with end marks. They are cut off below.
    const at::Tensor next = logits.select(1, -1).argmax(-1).masked_fill(ended, marks.end);
    ended = ended | (next == marks.end);
    target = at::cat({target, next.unsqueeze(1)}, 1);
  }
  const at::Tensor ids = target.slice(1, 1).cpu().contiguous();  // [B, t]
  std::vector<std::vector<int64_t>> answers;
  for (int64_t i = 0; i < ids.size(0); ++i) {
    const int64_t* first = ids.const_data_ptr<int64_t>() + i * ids.size(1);
    answers.emplace_back(first, std::find(first, first + ids.size(1), marks.end));
  }
  return answers;
}

}  // namespace vitrine
