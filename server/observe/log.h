// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_LOG_H_
#define VITRINE_SERVER_OBSERVE_LOG_H_

#include <spdlog/common.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// A value whose text is already JSON. A JSON line contains it as JSON, a text line as a string.
struct LogJson {
  std::string text;
};
using LogValue = std::variant<std::string, int64_t, double, bool, LogJson>;
using LogFields = std::vector<std::pair<std::string, LogValue>>;

// Logs an event with its fields: "message key=value ..." as text, or a JSON object with these keys. `message` must be a
// constant of the program; values may come from clients. Keys must not be time, level or message. Thread-safe.
void Log(LogLevel level, std::string_view message, const LogFields& fields = {});

// Logs events that must be recorded, even if --log-level excludes the level. Slower than Log. Thread-safe.
void LogAlways(LogLevel level, std::string_view message, const LogFields& fields = {});

struct LogLine {
  absl::Time time;  // wall clock
  spdlog::level::level_enum level = spdlog::level::info;
  std::string text;  // message and fields as in a text line, cut at LogHistory::kMaxText
};

// The latest warnings and errors of the process, for display. Thread-safe.
class LogHistory {
 public:
  static constexpr size_t kMaxLines = 50;
  static constexpr size_t kMaxText = 1000;

  void Add(LogLine line);                        // ignores lines below level warning
  std::vector<LogLine> Lines() const;            // returns the lines, newest first
  std::pair<uint64_t, uint64_t> Counts() const;  // returns the numbers of warnings and errors since the start

 private:
  mutable Mutex mutex_;
  std::deque<LogLine> lines_ ABSL_GUARDED_BY(mutex_);
  uint64_t warnings_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t errors_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the history of the process.
LogHistory& History();

// Returns true for "text" and "json" (see docs/operations/monitoring.md).
bool IsLogFormat(std::string_view format);

// Sends the log of the process to stderr and to History(). The service continues if the disk is full or stderr closed.
// Call once, before anything is logged. `level` is a value of --log-level.
void StartLogging(const std::string& level, const std::string& format);

// Adds History() to the current logger. Needed if a program embeds the server and does not call StartLogging.
// Idempotent.
void KeepHistory();

// Return one log line with its newline. Control characters in message and fields are escaped, so that the result is
// always a single line; invalid UTF-8 is replaced. `time` is wall-clock time. Public for tests.
std::string TextLine(absl::Time time, spdlog::level::level_enum level, std::string_view message,
                     const LogFields* fields);
std::string JsonLine(absl::Time time, spdlog::level::level_enum level, std::string_view message,
                     const LogFields* fields);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_LOG_H_
