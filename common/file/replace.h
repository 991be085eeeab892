// SPDX-License-Identifier: Apache-2.0
// Atomic replacement of files: a reader, and the disk after a power failure, has either the old content or the new.
#ifndef VITRINE_COMMON_FILE_REPLACE_H_
#define VITRINE_COMMON_FILE_REPLACE_H_

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Returns the path where the next content of `path` is staged: `path` with ".new" appended. One writer at a time;
// leftovers of an earlier process are removed.
std::filesystem::path StagedPath(const std::filesystem::path& path);

// Writes and syncs `bytes` to StagedPath(path), a new file with this mode. Removes it on failure. Errors of FileError.
absl::Status StageFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

// Moves the file staged by StageFile or a stream to `path`. On return its content is synced, and its name unless the
// sync of the folder failed. On failure `path` is unchanged and the staged file is removed. Errors of FileError.
absl::Status CommitFile(const std::filesystem::path& path);

// Removes the staged file, if any.
void DropStaged(const std::filesystem::path& path);

// Calls StageFile and CommitFile.
absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_REPLACE_H_
