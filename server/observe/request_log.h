// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_REQUEST_LOG_H_
#define VITRINE_SERVER_OBSERVE_REQUEST_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/observe/line_limit.h"
#include "server/observe/model_metrics.h"
#include "server/observe/trace_context.h"
#include "server/process/clock.h"

namespace vitrine {

struct RequestLogOptions {
  // Which requests get a line of their own:
  //   none
  //   errors    those that failed by the server's fault: INTERNAL, UNKNOWN, DATA_LOSS
  //   failures  every one that was not answered OK
  //   all       every one; costs some microseconds each
  // Lines of errors and failures are held to kMaxLinesPerSecond; the next line says how many are missing.
  std::string requests = "errors";
  // A request that takes at least this long gets a line whatever became of it, unless `requests` is none.
  absl::Duration slow = absl::InfiniteDuration();

  absl::Status Validate() const;  // names the setting, the value and what is allowed
};

// What a line says about a request. Strings are the caller's: they are escaped, and cut where they are long.
struct RequestLine {
  std::string_view method;
  std::string_view caller;
  std::string_view peer;
  std::string_view model;  // empty where none was found
  int64_t version = 0;     // 0 where none was found
  std::string_view request_id;
  std::optional<TraceContext> trace;
  absl::Status status;
  absl::Duration spent;
};

// One log line for a request that ended. Never holds a picture, a tensor or a credential. Thread-safe; a request that
// gets no line costs a comparison or two.
class RequestLog {
 public:
  static constexpr int kMaxLinesPerSecond = 20;

  RequestLog(const RequestLogOptions& options, const Clock& clock);

  // Whether a request that ended so gets a line, but for the limit per second.
  bool Wants(absl::StatusCode code, absl::Duration spent) const;
  // Requires Wants.
  void Write(const RequestLine& line);

 private:
  enum class Level { kNone, kErrors, kFailures, kAll };

  const Level level_;
  const absl::Duration slow_;
  LineLimit limit_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_REQUEST_LOG_H_
