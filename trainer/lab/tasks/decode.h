// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_DECODE_H_
#define VITRINE_TRAINER_LAB_TASKS_DECODE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {

struct DecodeMarks {
  int64_t begin = 0;  // first id of every target
  int64_t end = 0;    // last id of a target
};

// Decodes greedily: for every sequence of `source` [B, n], starts with `marks.begin` and appends the most likely next
// id, until the next id is `marks.end` or `most` ids are appended. Returns the appended ids before `marks.end`.
// Requires a model with config.pair and most < config.max_length. Returns RunSequenceModel's errors;
// throws LibTorch's exceptions.
absl::StatusOr<std::vector<std::vector<int64_t>>> GreedyDecode(const SequenceModel& model, const at::Tensor& source,
                                                               DecodeMarks marks, int64_t most);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_DECODE_H_
