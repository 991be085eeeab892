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

// What is noted about a sampled request on its way; its spans are made of it later, on the exporter's thread. Touched
// by one thread at a time: whoever has the request.
struct RequestTrace {
  // A span that is inside the process: begin and end on the service's clock.
  struct Interval {
    absl::Time begin;
    absl::Time end;
  };
  // The batch that the request was computed in.
  struct Batch {
    uint64_t id = 0;
    int images = 0;
    int tokens = 0;
  };

  TraceId trace_id{};
  SpanId span_id{};                // of the request's own span
  std::optional<SpanId> parent{};  // in the caller's process; null: the trace begins here
  std::optional<int> part{};  // of a picture of a call that has a span of its own, the parent: its place in the call
  int pictures = 0;           // of such a call: how many pictures it has
  Method method = Method::kClassify;
  Interval whole{};
  std::array<std::optional<Interval>, kStages> stages{};  // those it came through, the last one perhaps in part
  std::optional<Batch> batch{};

  std::string model{};       // as the caller named it
  std::string request_id{};  // the caller's
  std::string precision{};   // of the version; empty where none was found, as the following
  int64_t version = 0;
  int64_t tokens = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message{};  // of a refusal

  void Note(Stage stage, absl::Time begin, absl::Time end) { stages[static_cast<int>(stage)] = Interval{begin, end}; }
  // How many spans become of it.
  int64_t Spans() const {
    int64_t spans = 1;
    for (const auto& stage : stages) spans += stage.has_value();
    return spans;
  }
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_REQUEST_TRACE_H_
