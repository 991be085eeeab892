#ifndef VITRINE_SERVER_REGISTRY_TEXT_FILE_H_
#define VITRINE_SERVER_REGISTRY_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Small settings files that people write: protobuf text of at most 1 MiB.

// Reads and parses. NOT_FOUND if there is no such file; INVALID_ARGUMENT gives path, line, column and fault; others as
// the system said. Unknown fields are refused; `message` is unspecified after an error.
absl::Status ReadTextProto(const std::filesystem::path& path, google::protobuf::Message& message);

// Writes beside `path`, syncs, and renames over it: readers and a crash see the old file or the new one, never a part.
// The status names file and reason; the old file stands then. INVALID_ARGUMENT: it would be too long to be read.
absl::Status WriteTextProto(const std::filesystem::path& path, const google::protobuf::Message& message);

// Changes whenever the file, its owner or its mode changes; "absent" where there is none.
std::string FileStamp(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_TEXT_FILE_H_
