// SPDX-License-Identifier: Apache-2.0
#include "server/process/text_file.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/byte_order_mark.h"
#include "common/file/descriptor.h"
#include "common/first_error.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr int kDeepest = 10;

absl::Status ReadAll(const std::filesystem::path& path, std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return FileError(errno, path.string());
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return FileError(errno, path.string());
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path.string(), " is not a file"));
  char part[16384];
  for (;;) {
    const ssize_t got = read(file.get(), part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, path.string());
    if (got == 0) return absl::OkStatus();
    text.append(part, static_cast<size_t>(got));
    if (text.size() > kMostBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(), " is longer than ", kMostBytes, " bytes"));
    }
  }
}

}  // namespace

absl::Status ParseTextProto(const std::string& text, google::protobuf::Message& message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepest);
  if (parser.ParseFromString(std::string(WithoutByteOrderMark(text)), &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(error.message().empty() ? "not protobuf text" : error.message());
}

absl::Status ReadTextProto(const std::filesystem::path& path, google::protobuf::Message& message) {
  std::string text;
  RETURN_IF_ERROR(ReadAll(path, text));
  const absl::Status parsed = ParseTextProto(text, message);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", std::string(parsed.message())));
}

absl::Status StageTextProto(const std::filesystem::path& path, const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), " would be longer than ", kMostBytes, " bytes, and could not be read again"));
  }
  return StageFile(path, text, 0600);
}

std::string FileStamp(const std::filesystem::path& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "absent";
  return absl::StrCat(facts.st_ino, " ", facts.st_size, " ", facts.st_mtim.tv_sec, " ", facts.st_mtim.tv_nsec, " ",
                      facts.st_ctim.tv_sec, " ", facts.st_ctim.tv_nsec);
}

}  // namespace vitrine
