// SPDX-License-Identifier: Apache-2.0
#include "server/observe/library_log.h"

#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/observe/line_limit.h"
#include "server/observe/log.h"
#include "server/process/clock.h"

namespace vitrine {
namespace {

void HandleProtobufLog(google::protobuf::LogLevel, const char* file, int line, const std::string& message) {
  static auto& limit = *new LineLimit(kMaxLibraryLinesPerSecond, SteadyClock());
  const std::optional<int64_t> left_out = limit.Admit();
  if (!left_out.has_value()) return;
  const std::string_view path = file;
  LogFields fields = {{"library", "protobuf"},
                      {"place", absl::StrCat(std::string(path.substr(path.rfind('/') + 1)), ":", line)},
                      {"said", message}};
  if (*left_out > 0) fields.emplace_back("lines_left_out", *left_out);
  Log(LogLevel::kWarning, "library", fields);
}

}  // namespace

void RedirectLibraryLogs() {
  google::protobuf::SetLogHandler(HandleProtobufLog);
}

}  // namespace vitrine
