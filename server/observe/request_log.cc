// SPDX-License-Identifier: Apache-2.0
#include "server/observe/request_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/families.h"
#include "server/observe/log.h"

namespace vitrine {
namespace {

// Maximum length of a text from a client, in bytes.
constexpr size_t kMaxText = 256;

bool IsServersFault(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

std::string Cut(std::string_view text) {
  return text.size() <= kMaxText ? std::string(text) : std::string(text.substr(0, kMaxText)) + "...";
}

}  // namespace

absl::Status RequestLogOptions::Validate() const {
  if (requests != "none" && requests != "errors" && requests != "failures" && requests != "all") {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-requests is \"", requests, "\"; it must be one of none, errors, failures, all"));
  }
  if (slow <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-slow-requests is ", absl::FormatDuration(slow), "; it must be longer than zero"));
  }
  if (requests == "none" && slow < absl::InfiniteDuration()) {
    return absl::InvalidArgumentError("--log-slow-requests has no effect with --log-requests none; write errors");
  }
  return absl::OkStatus();
}

RequestLog::RequestLog(const RequestLogOptions& options, const Clock& clock)
    : level_(options.requests == "none"       ? Level::kNone
             : options.requests == "failures" ? Level::kFailures
             : options.requests == "all"      ? Level::kAll
                                              : Level::kErrors),
      slow_(options.slow),
      limit_(kMaxLinesPerSecond, clock),
      unauthenticated_(kMaxUnauthenticatedPerSecond, clock) {}

bool RequestLog::Wants(absl::StatusCode code, absl::Duration spent) const {
  switch (level_) {
    case Level::kNone:
      return false;
    case Level::kErrors:
      return IsServersFault(code) || spent >= slow_;
    case Level::kFailures:
      return code != absl::StatusCode::kOk || spent >= slow_;
    case Level::kAll:
      return true;
  }
  return false;
}

void RequestLog::Write(const RequestLine& line) {
  const std::optional<int64_t> left_out = absl::IsUnauthenticated(line.status) ? unauthenticated_.Admit()
                                          : level_ == Level::kAll              ? 0
                                                                               : limit_.Admit();
  if (!left_out.has_value()) return;
  LogFields fields = {{"method", std::string(line.method)},
                      {"code", CodeName(static_cast<int>(line.status.code()))},
                      {"duration_ms", absl::ToDoubleMilliseconds(line.spent)},
                      {"caller", Cut(line.caller)},
                      {"peer", Cut(line.peer)}};
  if (!line.model.empty()) fields.emplace_back("model", Cut(line.model));
  if (line.version > 0) fields.emplace_back("version", line.version);
  if (!line.request_id.empty()) fields.emplace_back("request_id", Cut(line.request_id));
  if (line.trace.has_value()) {
    fields.emplace_back("trace_id", line.trace->trace_id);
    fields.emplace_back("span_id", line.trace->span_id);
  }
  if (!line.status.ok()) fields.emplace_back("reason", Cut(std::string(line.status.message())));
  if (*left_out > 0) fields.emplace_back("lines_left_out", *left_out);
  Log(IsServersFault(line.status.code()) ? LogLevel::kWarning : LogLevel::kInfo, "request", fields);
}

}  // namespace vitrine
