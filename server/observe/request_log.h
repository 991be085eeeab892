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
  // Requests that get a log line:
  //   none      no request
  //   errors    failures that are the server's fault: INTERNAL, UNKNOWN, DATA_LOSS
  //   failures  all requests that were not answered OK
  //   all       all requests; costs some microseconds per request
  // Except with `all`, lines are limited to kMaxLinesPerSecond. Lines of requests that ended with UNAUTHENTICATED are
  // limited to kMaxUnauthenticatedPerSecond with any setting. The next line that is written gives the number of
  // suppressed lines.
  std::string requests = "errors";
  // Requests that take at least this long also get a line, even if they are answered OK. Infinite: no
  // request gets a line because of its duration. Must be infinite if `requests` is none.
  absl::Duration slow = absl::InfiniteDuration();

  absl::Status Validate() const;  // an error names the setting, the value and the allowed values
};

// Content of a request's line. Strings may come from the client: they are escaped, and cut if long.
struct RequestLine {
  std::string_view method;
  std::string_view caller;
  std::string_view peer = {};
  std::string_view model = {};  // name of the model; empty if the model is not known
  int64_t version = 0;          // version number; 0 if the version is not known
  std::string_view request_id = {};
  std::optional<TraceContext> trace = {};
  absl::Status status;
  absl::Duration spent = absl::ZeroDuration();
};

// Writes the log lines of finished requests. A line never contains an image, a tensor or a credential. Thread-safe. A
// request without a line costs only one or two comparisons.
class RequestLog {
 public:
  static constexpr int kMaxLinesPerSecond = 20;
  // UNAUTHENTICATED has a separate limit: clients that guess tokens must not fill the disk or suppress other lines.
  static constexpr int kMaxUnauthenticatedPerSecond = 5;

  RequestLog(const RequestLogOptions& options, const Clock& clock);

  // Returns true if a request with this result gets a line; the limit per second may still suppress it.
  bool Wants(absl::StatusCode code, absl::Duration spent) const;
  // Writes the line. Wants must have returned true.
  void Write(const RequestLine& line);

 private:
  enum class Level { kNone, kErrors, kFailures, kAll };

  const Level level_;
  const absl::Duration slow_;
  LineLimit limit_;
  LineLimit unauthenticated_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_REQUEST_LOG_H_
