// SPDX-License-Identifier: Apache-2.0
// Files that are replaced as a whole: a reader, and the disk after a power cut, has the old content or the new one.
#ifndef VITRINE_BASE_FILE_REPLACE_H_
#define VITRINE_BASE_FILE_REPLACE_H_

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Where the next content of `path` waits until it is committed: beside it, with ".new" behind its name. One writer at a
// time; what an ended process left there is removed.
std::filesystem::path StagedPath(const std::filesystem::path& path);

// Writes `bytes` to StagedPath(path), in a new file of this mode, and to the disk. Leaves nothing behind where that
// fails. Errors as FileError.
absl::Status StageFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

// Puts what was written to StagedPath(path), by StageFile or by a stream, in the place of `path`: its bytes and then
// its name are on the disk when this returns. Where that fails `path` is as it was, and nothing waits beside it.
// Errors as FileError.
absl::Status CommitFile(const std::filesystem::path& path);

// Removes what waits, if anything does.
void DropStaged(const std::filesystem::path& path);

// StageFile and CommitFile.
absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace vitrine

#endif  // VITRINE_BASE_FILE_REPLACE_H_
