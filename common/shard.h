// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SHARD_H_
#define VITRINE_COMMON_SHARD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vitrine {

// One part of a job that is divided into `of` parts. In an evaluation, a shard is image `number` and every `of`-th
// image after it, so that a shard has images of all classes. In `vitrine score`, a shard is a range of consecutive
// images. In a sweep, a shard is every `of`-th run.
struct Shard {
  int64_t number = 1;  // 1 to `of`
  int64_t of = 1;
  bool operator==(const Shard&) const = default;
};

// Parses "3/8". For "/8", the number comes from $JOB_COMPLETION_INDEX (counted from 0), which Kubernetes sets in an
// Indexed Job. INVALID_ARGUMENT: the text has neither form, or the variable is missing or invalid.
absl::StatusOr<Shard> ParseShard(std::string_view text);
std::string ToString(const Shard& shard);

}  // namespace vitrine

#endif  // VITRINE_COMMON_SHARD_H_
