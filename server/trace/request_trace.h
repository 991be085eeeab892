// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_REQUEST_TRACE_H_
#define VITRINE_SERVER_TRACE_REQUEST_TRACE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/observe/model_metrics.h"
#include "server/trace/span_ids.h"

namespace vitrine {

// Recorded data of a sampled request, from which the exporter's thread later makes spans. At any time, only the thread
// that owns the request uses this object.
struct RequestTrace {
  // Begin and end of a span, as times of the monotonic Clock (server/process/clock.h), not wall-clock times.
  struct Interval {
    absl::Time begin;
    absl::Time end;
  };
  // The batch in which the request was computed.
  struct Batch {
    uint64_t id = 0;
    int images = 0;
    int tokens = 0;
  };

  TraceId trace_id{};
  SpanId span_id{};                // the request's own span
  std::optional<SpanId> parent{};  // span in the caller's process; unset: the trace begins here
  std::optional<int> part{};       // index of this image in a multi-image call; the call's span is the parent
  int image_count = 0;             // number of images in the call, if this is the span of a multi-image call
  Method method = Method::kClassify;
  Interval whole{};
  // stages that the request reached; the last stage may be incomplete
  std::array<std::optional<Interval>, kStages> stages{};
  std::optional<Batch> batch{};

  std::string model{};       // name sent by the client
  std::string request_id{};  // set by the client
  std::string precision{};   // precision, version and tokens are unset if no version was reached
  int64_t version = 0;
  int64_t tokens = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message{};  // error message of the request

  void Note(Stage stage, absl::Time begin, absl::Time end) { stages[static_cast<int>(stage)] = Interval{begin, end}; }
  // Returns the number of spans that are made from this object.
  int64_t Spans() const {
    int64_t spans = 1;
    for (const auto& stage : stages) spans += stage.has_value();
    return spans;
  }
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_REQUEST_TRACE_H_
