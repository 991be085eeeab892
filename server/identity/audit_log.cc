// SPDX-License-Identifier: Apache-2.0
#include "server/identity/audit_log.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/observe/log.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

// Maximum bytes of the arguments in a line; longer arguments are cut.
constexpr size_t kLongestArguments = 4096;

const char* PhaseOf(const AuditRecord& record) {
  return record.outcome.has_value() ? "end" : "begin";
}

// Returns the duration in seconds, exact to a microsecond.
double SecondsOf(const AuditRecord& record) {
  return static_cast<double>(absl::ToInt64Microseconds(record.took)) / 1e6;
}

std::string Dumped(const ordered_json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, ordered_json::error_handler_t::replace);
}

// Returns the arguments as JSON. If the JSON text is longer than kLongestArguments, returns its beginning as a string.
ordered_json ArgumentsOf(const AuditRecord& record) {
  std::string arguments;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const bool printed = google::protobuf::util::MessageToJsonString(record.arguments, &arguments, options).ok();
  if (printed && arguments.size() <= kLongestArguments) {
    ordered_json parsed = ordered_json::parse(arguments, nullptr, /*allow_exceptions=*/false);
    return parsed.is_discarded() ? ordered_json(arguments) : parsed;  // discarded: a caller sent text that is not UTF-8
  }
  return printed ? arguments.substr(0, kLongestArguments) : "cannot be written as JSON";
}

// Returns the fields for the server's log. Log adds "message" and "time".
LogFields FieldsOf(const AuditRecord& record) {
  LogFields fields = {{"phase", std::string(PhaseOf(record))},
                      {"caller", record.caller},
                      {"peer", record.peer},
                      {"method", record.method},
                      {"arguments", LogJson{Dumped(ArgumentsOf(record))}}};
  if (!record.outcome.has_value()) return fields;
  fields.emplace_back("code", absl::StatusCodeToString(record.outcome->code()));
  fields.emplace_back("reason", std::string(record.outcome->message()));
  fields.emplace_back("seconds", LogJson{Dumped(SecondsOf(record))});
  return fields;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  std::unique_ptr<AuditLog> log(new AuditLog(path));
  if (path.empty()) return log;
  MutexLock lock(log->mutex_);
  if (const absl::Status opened = log->Reopen(); !opened.ok()) return opened;
  return log;
}

AuditLog::~AuditLog() {
  if (file_ >= 0) close(file_);
}

absl::Status AuditLog::Reopen() {
  if (file_ >= 0) close(file_);
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
  if (file_ >= 0) return absl::OkStatus();
  const std::string sentence =
      absl::StrCat("--audit-log ", path_, " cannot be opened: ", absl::AsciiStrToLower(strerror(errno)));
  return errno == EACCES ? absl::PermissionDeniedError(sentence) : absl::NotFoundError(sentence);
}

bool AuditLog::IsStillThere() const {
  struct stat open_one = {};
  struct stat named = {};
  return file_ >= 0 && fstat(file_, &open_one) == 0 && stat(path_.c_str(), &named) == 0 &&
         open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

std::string AuditLog::Line(const AuditRecord& record, absl::Time now) {
  ordered_json line = {{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone())},
                       {"event", "admin"},
                       {"phase", PhaseOf(record)},
                       {"caller", record.caller},
                       {"peer", record.peer},
                       {"method", record.method},
                       {"arguments", ArgumentsOf(record)}};
  if (record.outcome.has_value()) {
    line["code"] = absl::StatusCodeToString(record.outcome->code());
    line["message"] = std::string(record.outcome->message());
    line["seconds"] = SecondsOf(record);
  }
  return Dumped(line);
}

void AuditLog::RemoveEnd(ssize_t bytes) {
  struct stat now = {};
  if (bytes == 0 || fstat(file_, &now) != 0) return;
  const off_t end = lseek(file_, 0, SEEK_CUR);    // position after the partial line
  if (now.st_size != end || end < bytes) return;  // another process has already written after this line
  (void)!ftruncate(file_, end - bytes);           // fails for an append-only file
}

void AuditLog::Write(const AuditRecord& record) {
  if (path_.empty()) {
    LogAlways(LogLevel::kInfo, "audit", FieldsOf(record));
    return;
  }
  const std::string whole = Line(record, absl::Now()) + "\n";
  MutexLock lock(mutex_);
  if (!IsStillThere()) (void)Reopen().ok();
  ssize_t written = -1;
  do {
    written = file_ < 0 ? -1 : write(file_, whole.data(), whole.size());
  } while (written < 0 && file_ >= 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(whole.size())) {
    const std::string reason = written < 0 ? strerror(errno) : "only a part of the line was accepted";
    RemoveEnd(std::max<ssize_t>(written, 0));
    LogFields fields = FieldsOf(record);
    fields.emplace_back("fault", absl::StrCat(path_, " cannot be written: ", reason));
    LogAlways(LogLevel::kError, "audit", fields);
  }
}

}  // namespace vitrine
