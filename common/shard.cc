// SPDX-License-Identifier: Apache-2.0
#include "common/shard.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vitrine {
namespace {

// Index of this pod in its Indexed Job, counted from 0.
constexpr char kJobIndex[] = "JOB_COMPLETION_INDEX";

}  // namespace

absl::StatusOr<Shard> ParseShard(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(absl::string_view(text.data(), text.size()), '/');
  Shard shard;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &shard.of) || shard.of < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text), "\" is no shard; write NUMBER/OF as in 3/8, or /8 in an Indexed Job"));
  }
  if (parts[0].empty()) {
    const char* index = std::getenv(kJobIndex);
    if (index == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", std::string(text), "\" needs the shard's number in $", kJobIndex, ", which is not set"));
    }
    if (!absl::SimpleAtoi(index, &shard.number)) {
      return absl::InvalidArgumentError(absl::StrCat("$", kJobIndex, " is \"", index, "\", which is no number"));
    }
    ++shard.number;
  } else if (!absl::SimpleAtoi(parts[0], &shard.number)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", parts[0], "\" is no number of a shard; write 3/8"));
  }
  if (shard.number < 1 || shard.number > shard.of) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no shard ", shard.number, " of ", shard.of, "; shards are numbered 1 to ", shard.of));
  }
  return shard;
}

std::string ToString(const Shard& shard) {
  return absl::StrCat(shard.number, "/", shard.of);
}

}  // namespace vitrine
