// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/wire/http/refusal.h"

namespace vitrine {
namespace {

using opentelemetry::proto::trace::v1::ScopeSpans;
using opentelemetry::proto::trace::v1::Span;
using opentelemetry::proto::trace::v1::Status;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// The request arrives one hour after the service's clock has started. This clock is kWall behind the wall clock.
const absl::Time kArrival = absl::UnixEpoch() + absl::Hours(1);
constexpr absl::Duration kWall = absl::Hours(24);

RequestTrace Answered(Method method = Method::kClassify) {
  RequestTrace trace;
  trace.trace_id = TraceIdOf("4bf92f3577b34da6a3ce929d0e0e4736");
  trace.span_id = SpanIdOf("1111111111111111");
  trace.parent = SpanIdOf("00f067aa0ba902b7");
  trace.method = method;
  trace.whole = {kArrival, kArrival + absl::Milliseconds(40)};
  for (int stage = 0; stage < kStages; ++stage) {
    const absl::Time begin = kArrival + stage * absl::Milliseconds(10);
    trace.Note(static_cast<Stage>(stage), begin, begin + absl::Milliseconds(10));
  }
  trace.batch = {.id = 9, .images = 3, .tokens = 99};
  trace.model = "m";
  trace.version = 4;
  trace.precision = "int8";
  trace.request_id = "r";
  trace.tokens = 33;
  return trace;
}

ScopeSpans SpansOf(const RequestTrace& trace) {
  ScopeSpans spans;
  AppendSpans(trace, kWall, HttpCode, spans);
  return spans;
}

// Returns the attributes by key. Numbers become text.
template <typename Message>
std::map<std::string, std::string> AttributesOf(const Message& message) {
  std::map<std::string, std::string> attributes;
  for (const auto& each : message.attributes()) {
    attributes[each.key()] =
        each.value().has_int_value() ? absl::StrCat(each.value().int_value()) : each.value().string_value();
  }
  return attributes;
}

std::map<std::string, std::string> Refused(absl::StatusCode code, Method method, Status& status) {
  RequestTrace trace;
  trace.method = method;
  trace.code = code;
  trace.message = "it broke";
  const ScopeSpans spans = SpansOf(trace);
  EXPECT_EQ(spans.spans_size(), 1);
  status = spans.spans(0).status();
  return AttributesOf(spans.spans(0));
}

TEST(OtlpSpans, HaveOneSpanForTheRequestAndEachStage) {
  const ScopeSpans spans = SpansOf(Answered());
  ASSERT_EQ(spans.spans_size(), 5);
  const Span& whole = spans.spans(0);
  EXPECT_EQ(whole.name(), "vitrine.v1.Classifier/Classify");
  EXPECT_EQ(whole.kind(), Span::SPAN_KIND_SERVER);
  EXPECT_EQ(whole.trace_id(), absl::HexStringToBytes("4bf92f3577b34da6a3ce929d0e0e4736"));
  EXPECT_EQ(whole.parent_span_id(), absl::HexStringToBytes("00f067aa0ba902b7"));
  EXPECT_EQ(whole.start_time_unix_nano(), 25 * 3600 * uint64_t{1'000'000'000});
  EXPECT_EQ(whole.end_time_unix_nano() - whole.start_time_unix_nano(), 40'000'000U);
  const char* const names[] = {"queue", "decode", "compute", "encode"};
  for (int stage = 0; stage < kStages; ++stage) {
    const Span& span = spans.spans(1 + stage);
    EXPECT_EQ(span.name(), names[stage]);
    EXPECT_EQ(span.kind(), Span::SPAN_KIND_INTERNAL);
    EXPECT_EQ(span.trace_id(), whole.trace_id());
    EXPECT_EQ(span.parent_span_id(), whole.span_id());
    EXPECT_EQ(span.span_id().size(), 8U);
    EXPECT_EQ(span.start_time_unix_nano() - whole.start_time_unix_nano(), static_cast<uint64_t>(stage) * 10'000'000);
    EXPECT_EQ(AttributesOf(span).empty(), stage != static_cast<int>(Stage::kCompute));
  }
  EXPECT_EQ(AttributesOf(spans.spans(3)),
            (std::map<std::string, std::string>{
                {"vitrine.batch.id", "9"}, {"vitrine.batch.images", "3"}, {"vitrine.batch.tokens", "99"}}));
}

TEST(OtlpSpans, HaveTheAttributesOfAnRpc) {
  EXPECT_EQ(AttributesOf(SpansOf(Answered()).spans(0)), (std::map<std::string, std::string>{
                                                            {"rpc.system", "grpc"},
                                                            {"rpc.service", "vitrine.v1.Classifier"},
                                                            {"rpc.method", "Classify"},
                                                            {"rpc.grpc.status_code", "0"},
                                                            {"vitrine.model", "m"},
                                                            {"vitrine.version", "4"},
                                                            {"vitrine.precision", "int8"},
                                                            {"vitrine.request_id", "r"},
                                                            {"vitrine.tokens", "33"},
                                                        }));
}

TEST(OtlpSpans, AnImageOfACallHasAnInternalSpan) {
  RequestTrace trace = Answered(Method::kModelInfer);
  trace.part = 2;
  trace.code = absl::StatusCode::kInternal;
  const ScopeSpans spans = SpansOf(trace);
  ASSERT_EQ(spans.spans_size(), 5);
  const Span& image = spans.spans(0);
  EXPECT_EQ(image.name(), "picture");
  EXPECT_EQ(image.kind(), Span::SPAN_KIND_INTERNAL);
  EXPECT_EQ(image.flags(), 0x101U) << "its parent is here";
  EXPECT_EQ(image.parent_span_id(), absl::HexStringToBytes("00f067aa0ba902b7"));
  EXPECT_EQ(image.status().code(), Status::STATUS_CODE_ERROR);
  EXPECT_EQ(AttributesOf(image), (std::map<std::string, std::string>{
                                     {"vitrine.picture", "2"},
                                     {"error.type", "INTERNAL"},
                                     {"vitrine.model", "m"},
                                     {"vitrine.version", "4"},
                                     {"vitrine.precision", "int8"},
                                     {"vitrine.request_id", "r"},
                                     {"vitrine.tokens", "33"},
                                 }));
  EXPECT_EQ(spans.spans(1).parent_span_id(), image.span_id());
}

TEST(OtlpSpans, ACallWithSeveralImagesHasTheirNumber) {
  RequestTrace trace = Answered(Method::kModelInfer);
  trace.image_count = 3;
  trace.stages = {};
  const ScopeSpans spans = SpansOf(trace);
  ASSERT_EQ(spans.spans_size(), 1);
  EXPECT_EQ(spans.spans(0).kind(), Span::SPAN_KIND_SERVER);
  EXPECT_EQ(spans.spans(0).name(), "inference.GRPCInferenceService/ModelInfer");
  EXPECT_THAT(AttributesOf(spans.spans(0)), Contains(Pair("vitrine.pictures", "3")));
  EXPECT_THAT(AttributesOf(SpansOf(Answered()).spans(0)), Not(Contains(Key("vitrine.pictures"))));
}

TEST(OtlpSpans, HaveTheAttributesOfAnHttpRequest) {
  const ScopeSpans spans = SpansOf(Answered(Method::kHttpInfer));
  EXPECT_EQ(spans.spans(0).name(), "POST /v2/models/{model}/infer");
  const auto attributes = AttributesOf(spans.spans(0));
  EXPECT_THAT(attributes, Contains(Pair("http.response.status_code", "200")));
  EXPECT_THAT(attributes, Contains(Pair("http.request.method", "POST")));
  EXPECT_THAT(attributes, Not(Contains(Key("rpc.system"))));
  EXPECT_EQ(spans.spans(0).status().code(), Status::STATUS_CODE_UNSET);
}

TEST(OtlpSpans, ErrorStatusFollowsTheSemanticConventions) {
  Status status;
  auto attributes = Refused(absl::StatusCode::kInternal, Method::kClassify, status);
  EXPECT_EQ(status.code(), Status::STATUS_CODE_ERROR);
  EXPECT_EQ(status.message(), "it broke");
  EXPECT_EQ(attributes["error.type"], "INTERNAL");
  EXPECT_EQ(attributes["rpc.grpc.status_code"], "13");

  (void)Refused(absl::StatusCode::kInvalidArgument, Method::kModelInfer, status);
  EXPECT_EQ(status.code(), Status::STATUS_CODE_UNSET);
  EXPECT_THAT(status.message(), IsEmpty());
  attributes = Refused(absl::StatusCode::kResourceExhausted, Method::kHttpClassify, status);
  EXPECT_EQ(status.code(), Status::STATUS_CODE_UNSET);
  EXPECT_EQ(attributes["http.response.status_code"], "429");
  (void)Refused(absl::StatusCode::kUnavailable, Method::kHttpClassify, status);
  EXPECT_EQ(status.code(), Status::STATUS_CODE_ERROR);
}

TEST(OtlpSpans, UnknownAttributesAreOmitted) {
  Status status;
  const auto attributes = Refused(absl::StatusCode::kNotFound, Method::kClassify, status);
  for (const char* key : {"vitrine.version", "vitrine.precision", "vitrine.tokens", "vitrine.request_id"}) {
    EXPECT_THAT(attributes, Not(Contains(Key(key)))) << key;
  }
  RequestTrace root = Answered();
  root.parent.reset();
  const ScopeSpans spans = SpansOf(root);
  EXPECT_THAT(spans.spans(0).parent_span_id(), IsEmpty());
  EXPECT_EQ(spans.spans(0).flags(), 0x101U) << "sampled, and no parent elsewhere";
  EXPECT_EQ(SpansOf(Answered()).spans(0).flags(), 0x301U);
}

}  // namespace
}  // namespace vitrine
