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

// Expands "x-{000..002}.tar" to x-000.tar, x-001.tar and x-002.tar, and "{a,b}" to a and b. Braces may be nested, as in
// a shell. Braces without a list or range stay as they are. INVALID_ARGUMENT for more than 100,000 results.
absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view text);

// Tar files, in the order in which they are read.
struct TarFiles {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path folder;  // names of the files are relative to it
};

// Finds the tar files of `where`: a folder (the *.tar files in it and in its subfolders, in byte order), one tar file,
// or a pattern with braces and wildcards (*, ?, [...]). NOT_FOUND: a file listed by braces is missing, or no file
// matches. INVALID_ARGUMENT: a file is listed twice.
absl::StatusOr<TarFiles> ListTarFiles(std::string_view where);

// Tar files of a set, by split. A shard's split is a word of its name (common/data/split_names.h), as in
// "imagenet-train-0001.tar". If the file's name has no such word, the name of the shard's folder is used, unless this
// folder is the set's own folder.
struct TarShards {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;  // the val shards if there are no test shards
  bool undivided = false;                   // true: no shard names a split, and both lists have all shards
  std::filesystem::path folder;             // folder of classes.txt; names of shards are relative to it
};

// Finds the shards of `where` with ListTarFiles, and returns the errors of ListTarFiles. Also returns INVALID_ARGUMENT
// if a name has words for two splits, or if only some of the shards have a split.
absl::StatusOr<TarShards> FindTarShards(std::string_view where);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_TAR_SHARDS_H_
