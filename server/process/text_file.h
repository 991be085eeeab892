// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_TEXT_FILE_H_
#define VITRINE_SERVER_PROCESS_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/file/replace.h"

namespace vitrine {

// Functions for settings files that people write: protobuf text of at most 1 MiB.

// Parses protobuf text, with or without a byte order mark. INVALID_ARGUMENT gives line, column and fault. Unknown
// fields are errors; `message` is unspecified after an error.
absl::Status ParseTextProto(const std::string& text, google::protobuf::Message& message);

// Reads and parses a file. NOT_FOUND: it does not exist. INVALID_ARGUMENT: it is not a regular file, is too long or
// is not valid; the message has the path, and line and column if known. For other errors, see FileError.
absl::Status ReadTextProto(const std::filesystem::path& path, google::protobuf::Message& message);

// Stages `message` for `path` with StageFile, so that a full disk is detected early; finish with CommitFile or
// DropStaged. INVALID_ARGUMENT: the text is too long for ReadTextProto.
absl::Status StageTextProto(const std::filesystem::path& path, const google::protobuf::Message& message);

// Returns a value that changes with the file's content, owner or mode; "absent" if the file does not exist.
std::string FileStamp(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_TEXT_FILE_H_
