// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_TEXT_FILE_H_
#define VITRINE_SERVER_PROCESS_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/file/replace.h"

namespace vitrine {

// Small settings files that people write: protobuf text of at most 1 MiB.

// INVALID_ARGUMENT gives line, column and fault. Unknown fields are refused; `message` is unspecified after an error.
absl::Status ParseTextProto(const std::string& text, google::protobuf::Message& message);

// Reads and parses. NOT_FOUND if there is no such file; INVALID_ARGUMENT gives path, line, column and fault; others as
// the system said.
absl::Status ReadTextProto(const std::filesystem::path& path, google::protobuf::Message& message);

// StageFile of what ReadTextProto can read again; whether there is room is known then, and CommitFile or DropStaged
// ends it. INVALID_ARGUMENT: it would be too long to be read.
absl::Status StageTextProto(const std::filesystem::path& path, const google::protobuf::Message& message);

// Changes whenever the file, its owner or its mode changes; "absent" where there is none.
std::string FileStamp(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_TEXT_FILE_H_
