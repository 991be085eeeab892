// SPDX-License-Identifier: Apache-2.0
#include "server/registry/text_file.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/first_error.h"
#include "base/status_macros.h"
#include "repository/safe_file.h"

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

absl::Status WriteAll(const FileDescriptor& file, const std::string& text, const std::string& what) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FileError(errno, what);
    done += static_cast<size_t>(wrote);
  }
  if (fsync(file.get()) != 0) return FileError(errno, what);
  return absl::OkStatus();
}

std::filesystem::path Beside(const std::filesystem::path& path) {
  return path.string() + ".new";
}

}  // namespace

absl::Status ParseTextProto(const std::string& text, google::protobuf::Message& message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepest);
  if (parser.ParseFromString(text, &message)) return absl::OkStatus();
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
  const std::filesystem::path beside = Beside(path);
  const FileDescriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return FileError(errno, beside.string());
  const absl::Status written = WriteAll(file, text, beside.string());
  if (!written.ok()) DropStaged(path);
  return written;
}

absl::Status CommitTextProto(const std::filesystem::path& path) {
  if (rename(Beside(path).c_str(), path.c_str()) != 0) return FileError(errno, path.string());
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const FileDescriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // The new file is in place; that its name is on the disk too is all that is missing here.
  if (folder.valid()) fsync(folder.get());
  return absl::OkStatus();
}

void DropStaged(const std::filesystem::path& path) {
  unlink(Beside(path).c_str());
}

std::string FileStamp(const std::filesystem::path& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "absent";
  return absl::StrCat(facts.st_ino, " ", facts.st_size, " ", facts.st_mtim.tv_sec, " ", facts.st_mtim.tv_nsec, " ",
                      facts.st_ctim.tv_sec, " ", facts.st_ctim.tv_nsec);
}

}  // namespace vitrine
