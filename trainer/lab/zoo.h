// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_ZOO_H_
#define VITRINE_TRAINER_LAB_ZOO_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// A model of the KV transformer paper that reads sequences or sets. A new one is a row in zoo.cc; the tests follow.
struct SequenceRow {
  std::string_view name;  // of [a-z0-9-]: "task-kv-pos-d64-l2"
  v1::SequenceConfig config;
  int64_t parameters = 0;   // exact, from the paper's arithmetic; tests compare
  std::string_view source;  // which task of the paper
};

// The number of heads changes no count of parameters (characters with KV+Pos excepted): one row stands for all of a
// grid, and a config that differs in `heads` alone is the same row.
std::span<const SequenceRow> SequenceZoo();

// NOT_FOUND lists the names of the same task, or the tasks.
absl::StatusOr<SequenceRow> FindSequence(std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_ZOO_H_
