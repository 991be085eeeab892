// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_TEXT_FILE_H_
#define VITRINE_SERVER_REGISTRY_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Small settings files that people write: protobuf text of at most 1 MiB.

// INVALID_ARGUMENT gives line, column and fault. Unknown fields are refused; `message` is unspecified after an error.
absl::Status ParseTextProto(const std::string& text, google::protobuf::Message& message);

// Reads and parses. NOT_FOUND if there is no such file; INVALID_ARGUMENT gives path, line, column and fault; others as
// the system said.
absl::Status ReadTextProto(const std::filesystem::path& path, google::protobuf::Message& message);

// A file is replaced in two steps, so that readers and a crash see the old one or the new one, never a part, and so
// that something can come between them. The first writes PATH.new and syncs it: whether there is room is known then.
// The status names file and reason; nothing is left of PATH.new then. INVALID_ARGUMENT: it would be too long to be
// read.
absl::Status StageTextProto(const std::filesystem::path& path, const google::protobuf::Message& message);
// The second renames it over `path`, which stands as it was after an error.
absl::Status CommitTextProto(const std::filesystem::path& path);
// Instead of the second.
void DropStaged(const std::filesystem::path& path);

// Changes whenever the file, its owner or its mode changes; "absent" where there is none.
std::string FileStamp(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_TEXT_FILE_H_
