// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_SAFE_FILE_H_
#define VITRINE_MODELS_REPOSITORY_SAFE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// Opens the folder at `path`. The path may contain symbolic links, because the operator chose it.
absl::StatusOr<FileDescriptor> OpenFolder(const std::filesystem::path& path);

// Opens the relative `path` beneath `folder` for reading. Never leaves the folder or follows a symbolic link, even if
// another process changes the tree at the same time. Never blocks on a FIFO. Messages name `path`.
absl::StatusOr<FileDescriptor> OpenBeneath(const FileDescriptor& folder, const std::string& path);

// Implements OpenBeneath with one openat call per path component, for kernels before 5.6 and other systems without
// openat2, such as some sandboxes.
absl::StatusOr<FileDescriptor> OpenBeneathByComponents(const FileDescriptor& folder, const std::string& path);

// Reads a regular file into memory with pread. FAILED_PRECONDITION if it is not a regular file, is larger than
// `max_bytes` (checked before allocation), or shrinks during the read.
absl::StatusOr<std::string> ReadFileBeneath(const FileDescriptor& folder, const std::string& path, int64_t max_bytes);

// Calls `visit` for every entry of the folder except "." and "..", in any order.
absl::Status ForEachEntry(const FileDescriptor& folder, const std::function<void(const std::string& name)>& visit);

enum class EntryKind { kNone, kFile, kFolder, kLink, kOther, kUnreadable };

// Returns the kind of the entry itself: kLink for a symbolic link; kUnreadable if permissions or disk errors hide the
// kind.
EntryKind KindOf(const FileDescriptor& folder, const std::string& name);

// Returns true if a symbolic link does not point to a folder.
bool LeadsToNoFolder(const FileDescriptor& folder, const std::string& link);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_SAFE_FILE_H_
