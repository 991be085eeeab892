// SPDX-License-Identifier: Apache-2.0
// Atomic replacement of files: a reader gets the complete old or the complete new content, also after a power failure.
#ifndef VITRINE_COMMON_FILE_REPLACE_H_
#define VITRINE_COMMON_FILE_REPLACE_H_

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Returns the path where new content of `path` is staged: `path` with ".new" appended. Requires a single writer.
// StageFile removes leftovers of an earlier process.
std::filesystem::path StagedPath(const std::filesystem::path& path);

// Writes and syncs `bytes` to StagedPath(path), as a new file with this mode. Removes the file on failure. For errors,
// see FileError.
absl::Status StageFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

// Moves the staged file, written by StageFile or a stream, to `path`. On success the content is on disk. The new name
// is usually also on disk, but a failed sync of the folder is not an error. On failure `path` is unchanged and the
// staged file is removed. For errors, see FileError.
absl::Status CommitFile(const std::filesystem::path& path);

// Removes the staged file if there is one.
void DropStaged(const std::filesystem::path& path);

// Calls StageFile and CommitFile.
absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_REPLACE_H_
