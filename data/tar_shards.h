// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_TAR_SHARDS_H_
#define VITRINE_DATA_TAR_SHARDS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// "x-{000..002}.tar" to x-000.tar, x-001.tar and x-002.tar; "{a,b}" to a and b; nested as in a shell. Braces that hold
// neither a list nor a range stay. INVALID_ARGUMENT if there would be more than 100,000.
absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view text);

// The tar files of a set, by split. A shard belongs to a split if a word of its name says so (train, training; test,
// testing; val, valid, validation, eval: "imagenet-train-0001.tar"), or, where none does, the name of its folder, if
// that lies within the set's folder.
struct TarShards {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;  // the shards of val where no shard is of test
  bool undivided = false;                   // no shard says its split: both lists hold all
  std::filesystem::path folder;             // where classes.txt is looked for; paths relative to it name the shards
};

// `where` is a folder (its *.tar files and those of its folders, in byte order), one tar file, or a pattern of braces
// and wildcards (*, ?, [...]). NOT_FOUND if a shard that braces list is missing, or no file is matched;
// INVALID_ARGUMENT if a name says two splits, only some say one, or a shard is listed twice.
absl::StatusOr<TarShards> FindTarShards(std::string_view where);

}  // namespace vitrine

#endif  // VITRINE_DATA_TAR_SHARDS_H_
