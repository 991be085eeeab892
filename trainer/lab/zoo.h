// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_ZOO_H_
#define VITRINE_TRAINER_LAB_ZOO_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// A model of the KV transformer paper for sequences or sets. To add a model, add a row in zoo.cc; the tests cover every
// row.
struct SequenceRow {
  std::string_view name;  // [a-z0-9-]+: "task-kv-pos-d64-l2"
  v1::SequenceConfig config;
  int64_t parameters = 0;   // exact number by the paper's formulas; checked by tests
  std::string_view source;  // task of the paper
};

// Returns all models. For most models, the parameter count does not depend on the number of heads, so one row is valid
// for any number of heads. Only the models "characters-kv-pos-..." have a row for each number of heads.
std::span<const SequenceRow> SequenceZoo();

// Finds a model. NOT_FOUND lists the names of all models of the task or, if the task is unknown, all tasks.
absl::StatusOr<SequenceRow> FindSequence(std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_ZOO_H_
