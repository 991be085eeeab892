// SPDX-License-Identifier: Apache-2.0
#include "server/trace/tracer.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

// Maximum length of a text from an error message or a client, in bytes.
constexpr size_t kMostText = 256;

// Shortens a text for a span to at most kMostText bytes. Clears the text if it is not UTF-8, since such a text would
// make the whole export unreadable.
void CutText(std::string& text) {
  text.resize(FrontOf(text, kMostText).size());
  if (!IsUtf8(text)) text.clear();
}

}  // namespace

std::unique_ptr<RequestTrace> Tracer::Begin(const std::optional<TraceContext>& caller, Method method,
                                            absl::Time arrival) {
  if (caller.has_value() && !caller->sampled) return nullptr;
  const TraceId id = caller.has_value() ? TraceIdOf(caller->trace_id) : NewTraceId();
  if (!caller.has_value() && !IsSampled(id, ratio_)) return nullptr;
  auto trace = std::make_unique<RequestTrace>();
  trace->trace_id = id;
  trace->span_id = NewSpanId();
  if (caller.has_value()) trace->parent = SpanIdOf(caller->span_id);
  trace->method = method;
  trace->whole.begin = arrival;
  return trace;
}

std::unique_ptr<RequestTrace> Tracer::BeginPart(const std::optional<TraceContext>& call, Method method,
                                                absl::Time arrival, int part) {
  if (!call.has_value()) return nullptr;  // the ratio was already applied to the call
  std::unique_ptr<RequestTrace> trace = Begin(call, method, arrival);
  if (trace != nullptr) trace->part = part;
  return trace;
}

void Tracer::End(std::unique_ptr<RequestTrace> trace, const absl::Status& status, absl::Time end) {
  trace->whole.end = end;
  trace->code = status.code();
  const int64_t spans = trace->Spans();
  trace->message = std::string(status.message().substr(0, kMostText + 1));  // limits the copy; CutText cuts the rest
  CutText(trace->message);
  CutText(trace->model);
  CutText(trace->request_id);
  if (!queue_.Push(std::move(trace))) counters_.full.fetch_add(static_cast<uint64_t>(spans), std::memory_order_relaxed);
}

}  // namespace vitrine
