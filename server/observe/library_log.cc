// SPDX-License-Identifier: Apache-2.0
#include "server/observe/library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/observe/line_limit.h"
#include "server/observe/log.h"
#include "server/process/clock.h"

namespace vitrine {
namespace {

void Write(const char* library, const char* file, int line, LogLevel level, std::string_view message) {
  static auto& limit = *new LineLimit(kMaxLibraryLinesPerSecond, SteadyClock());
  const std::optional<int64_t> left_out = limit.Admit();
  if (!left_out.has_value()) return;
  const std::string_view path = file;
  LogFields fields = {{"library", std::string(library)},
                      {"place", absl::StrCat(std::string(path.substr(path.rfind('/') + 1)), ":", line)},
                      {"said", std::string(message)}};
  if (*left_out > 0) fields.emplace_back("lines_left_out", *left_out);
  Log(level, "library", fields);
}

// Without memory the line is lost: an exception must not pass through the frames of the libraries.
void TryToWrite(const char* library, const char* file, int line, LogLevel level, std::string_view message) {
  try {
    Write(library, file, line, level, message);
  } catch (const std::bad_alloc&) {
  }
}

void OfGrpc(gpr_log_func_args* said) {
  const LogLevel level = said->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug;
  TryToWrite("grpc", said->file, said->line, level, said->message);
}

void OfProtobuf(google::protobuf::LogLevel, const char* file, int line, const std::string& message) {
  TryToWrite("protobuf", file, line, LogLevel::kWarning, message);
}

}  // namespace

void TakeLibraryLogs() {
  gpr_set_log_function(OfGrpc);
  google::protobuf::SetLogHandler(OfProtobuf);
}

}  // namespace vitrine
