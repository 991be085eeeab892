// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_spans.h"

#include <unistd.h>

#include <climits>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "server/observe/families.h"

namespace vitrine {
namespace {

using google::protobuf::RepeatedPtrField;
using opentelemetry::proto::common::v1::KeyValue;
using opentelemetry::proto::trace::v1::ScopeSpans;
using opentelemetry::proto::trace::v1::Span;
using opentelemetry::proto::trace::v1::Status;

// The RPC or HTTP route of a method.
struct Endpoint {
  const char* service;  // null: HTTP
  const char* name;     // the RPC method, or the route
};
constexpr Endpoint kEndpoints[] = {{"vitrine.v1.Classifier", "Classify"},
                                   {"vitrine.v1.Classifier", "ClassifyStream"},
                                   {"inference.GRPCInferenceService", "ModelInfer"},
                                   {nullptr, "/v2/models/{model}/infer"},
                                   {nullptr, "/v1/models/{model}:classify"}};
static_assert(std::size(kEndpoints) == kMethods);

// Bits of Span::flags. Only the bit 0x1 is also a flag in traceparent.
constexpr uint32_t kSampledFlag = 0x1;
constexpr uint32_t kHasIsRemote = 0x100;
constexpr uint32_t kIsRemote = 0x200;

using Attributes = RepeatedPtrField<KeyValue>;

void AddText(Attributes& attributes, const char* key, const std::string& value) {
  if (value.empty()) return;
  KeyValue& attribute = *attributes.Add();
  attribute.set_key(key);
  attribute.mutable_value()->set_string_value(value);
}

void AddNumber(Attributes& attributes, const char* key, int64_t value) {
  KeyValue& attribute = *attributes.Add();
  attribute.set_key(key);
  attribute.mutable_value()->set_int_value(value);
}

template <typename Id>
std::string Bytes(const Id& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// Adds a span with its ids and times; `parent` may be null.
Span& AddSpan(ScopeSpans& spans, const RequestTrace& trace, const SpanId& id, const SpanId* parent,
              const RequestTrace::Interval& interval, absl::Duration wall) {
  Span& span = *spans.add_spans();
  span.set_trace_id(Bytes(trace.trace_id));
  span.set_span_id(Bytes(id));
  if (parent != nullptr) span.set_parent_span_id(Bytes(*parent));
  span.set_start_time_unix_nano(static_cast<uint64_t>(absl::ToUnixNanos(interval.begin + wall)));
  span.set_end_time_unix_nano(static_cast<uint64_t>(absl::ToUnixNanos(interval.end + wall)));
  return span;
}

// Returns true if OpenTelemetry's conventions for servers count the error as a fault of the server.
bool IsServersError(const Endpoint& endpoint, absl::StatusCode code, HttpCodeOf http_code) {
  if (code == absl::StatusCode::kOk) return false;
  if (endpoint.service == nullptr) return http_code(code) >= 500;
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// Sets the name and attributes of the call.
void DescribeCall(const RequestTrace& trace, const Endpoint& endpoint, HttpCodeOf http_code, Span& span) {
  Attributes& attributes = *span.mutable_attributes();
  if (endpoint.service != nullptr) {
    span.set_name(absl::StrCat(endpoint.service, "/", endpoint.name));
    AddText(attributes, "rpc.system", "grpc");
    AddText(attributes, "rpc.service", endpoint.service);
    AddText(attributes, "rpc.method", endpoint.name);
    AddNumber(attributes, "rpc.grpc.status_code", static_cast<int>(trace.code));
  } else {
    span.set_name(absl::StrCat("POST ", endpoint.name));
    AddText(attributes, "http.request.method", "POST");
    AddText(attributes, "http.route", endpoint.name);
    AddNumber(attributes, "http.response.status_code",
              trace.code == absl::StatusCode::kOk ? 200 : http_code(trace.code));
  }
  if (trace.image_count > 0) AddNumber(attributes, "vitrine.pictures", trace.image_count);
}

void Describe(const RequestTrace& trace, HttpCodeOf http_code, Span& span) {
  const Endpoint& endpoint = kEndpoints[static_cast<int>(trace.method)];
  Attributes& attributes = *span.mutable_attributes();
  if (trace.part.has_value()) {
    span.set_name("picture");
    AddNumber(attributes, "vitrine.picture", *trace.part);
  } else {
    DescribeCall(trace, endpoint, http_code, span);
  }
  if (trace.code != absl::StatusCode::kOk) AddText(attributes, "error.type", CodeName(static_cast<int>(trace.code)));
  AddText(attributes, "vitrine.model", trace.model);
  if (trace.version > 0) AddNumber(attributes, "vitrine.version", trace.version);
  AddText(attributes, "vitrine.precision", trace.precision);
  AddText(attributes, "vitrine.request_id", trace.request_id);
  if (trace.tokens > 0) AddNumber(attributes, "vitrine.tokens", trace.tokens);
  if (IsServersError(endpoint, trace.code, http_code)) {
    span.mutable_status()->set_code(Status::STATUS_CODE_ERROR);
    span.mutable_status()->set_message(trace.message);
  }
}

}  // namespace

void AppendSpans(const RequestTrace& trace, absl::Duration wall, HttpCodeOf http_code, ScopeSpans& spans) {
  const SpanId* const parent = trace.parent.has_value() ? &*trace.parent : nullptr;
  Span& whole = AddSpan(spans, trace, trace.span_id, parent, trace.whole, wall);
  const bool is_part = trace.part.has_value();
  whole.set_kind(is_part ? Span::SPAN_KIND_INTERNAL : Span::SPAN_KIND_SERVER);
  whole.set_flags(kSampledFlag | kHasIsRemote | (parent != nullptr && !is_part ? kIsRemote : 0));
  Describe(trace, http_code, whole);
  for (int stage = 0; stage < kStages; ++stage) {
    if (!trace.stages[stage].has_value()) continue;
    Span& span = AddSpan(spans, trace, NewSpanId(), &trace.span_id, *trace.stages[stage], wall);
    span.set_kind(Span::SPAN_KIND_INTERNAL);
    span.set_flags(kSampledFlag | kHasIsRemote);
    span.set_name(StageName(static_cast<Stage>(stage)));
    if (static_cast<Stage>(stage) != Stage::kCompute || !trace.batch.has_value()) continue;
    AddNumber(*span.mutable_attributes(), "vitrine.batch.id", static_cast<int64_t>(trace.batch->id));
    AddNumber(*span.mutable_attributes(), "vitrine.batch.images", trace.batch->images);
    AddNumber(*span.mutable_attributes(), "vitrine.batch.tokens", trace.batch->tokens);
  }
}

opentelemetry::proto::resource::v1::Resource ThisResource(const std::string& version) {
  opentelemetry::proto::resource::v1::Resource resource;
  Attributes& attributes = *resource.mutable_attributes();
  AddText(attributes, "service.name", "vitrine-server");
  AddText(attributes, "service.version", version);
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, HOST_NAME_MAX) == 0) AddText(attributes, "host.name", host);
  AddNumber(attributes, "process.pid", getpid());
  return resource;
}

}  // namespace vitrine
