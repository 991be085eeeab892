// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_TAR_SHARDS_H_
#define VITRINE_COMMON_DATA_FORMATS_TAR_SHARDS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Expands "x-{000..002}.tar" to x-000.tar, x-001.tar and x-002.tar; "{a,b}" to a and b; nested as in a shell. Braces
// without a list or range are kept. INVALID_ARGUMENT for more than 100,000 results.
absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view text);

// Tar files of a set, by split. The split of a shard is given by a word of its name (train, training; test, testing;
// val, valid, validation, eval: "imagenet-train-0001.tar"), or else by its folder's name, if that is within the set's
// folder.
struct TarShards {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;  // the val shards if there are no test shards
  bool undivided = false;                   // no shard names a split: both lists hold all
  std::filesystem::path folder;             // place of classes.txt; shard names are paths relative to it
};

// Finds the shards of a folder (its *.tar files and those of its subfolders, in byte order), one tar file, or a pattern
// of braces and wildcards (*, ?, [...]). NOT_FOUND if a shard listed by braces is missing, or no file matches;
// INVALID_ARGUMENT if a name has two splits, only some have one, or a shard is listed twice.
absl::StatusOr<TarShards> FindTarShards(std::string_view where);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_TAR_SHARDS_H_
