// SPDX-License-Identifier: Apache-2.0
// Tests the calls that classify, with fake streams: their answers, and the resources that they take and release.
#include "tests/server/wire/rpc/served_calls.h"

#include <gmock/gmock.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "inference/grpc_service.pb.h"
#include "server/wire/rpc/stream_call.h"
#include "tests/server/logged.h"
#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vitrine::testing::FakeCall;
using vitrine::testing::Parsed;
using vitrine::testing::ServedCallsTest;

constexpr char kClassify[] = "/vitrine.v1.Classifier/Classify";
constexpr char kClassifyStream[] = "/vitrine.v1.Classifier/ClassifyStream";
constexpr char kInfer[] = "/inference.GRPCInferenceService/ModelInfer";
constexpr char kInferStream[] = "/inference.GRPCInferenceService/ModelStreamInfer";

TEST_F(ServedCallsTest, AnAnswerHoldsItsResourcesUntilItIsRead) {
  FakeCall call(server_, kClassify);
  call.SendMessage(Tensor("a"));
  call.HalfClose();
  EXPECT_EQ(admission_.load().requests, 1);
  End(Right());
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
  const auto message = call.stream().Messages().at(0);
  EXPECT_EQ(Parsed<v1::ClassifyResponse>(message).predictions(0).index(), 3);
  EXPECT_EQ(service_.ledger().in_flight(), 1) << "the client has not read the answer";
  EXPECT_EQ(admission_.load().requests, 1);
  EXPECT_EQ(admission_.answers().reserved(), static_cast<int64_t>(kGrpcPrefixBytes + message.second.size()))
      << "the real size counts, not the reserved one";
  call.stream().Take();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_EQ(admission_.answers().reserved(), 0);
  call.Close();
  EXPECT_FALSE(call.is_held());
}

TEST_F(ServedCallsTest, TheHeaderIsTheIdOfARequestWithoutOne) {
  for (const auto& [id, expected] : {std::pair("", "of-header"), std::pair("own", "own")}) {
    FakeCall call(server_, kClassify, {{"x-request-id", "of-header"}});
    call.SendMessage(Tensor(id));
    call.HalfClose();
    std::optional<Batch> batch = scheduler_.NextBatch();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->requests.front()->request.request_id(), expected);
    batch->requests.front()->Finish(Right());
  }
}

TEST_F(ServedCallsTest, TheLogLineOfARejectionHasTheId) {
  for (const char* path : {kClassify, kInfer, kClassifyStream, kInferStream}) {
    const std::string line = Logged("info", "text", [&] {
      FakeCall call(server_, path, {{"x-request-id", "of-header"}});
      call.Send(std::string("\0\0\0\0\2\xFF\xFF", 7));
      call.HalfClose();
    });
    EXPECT_THAT(line, HasSubstr("request_id=of-header")) << path;
  }
}

TEST_F(ServedCallsTest, AStreamLivesUntilItsRequestIsFinished) {
  FakeCall call(server_, kClassify);
  call.SendMessage(Tensor());
  call.HalfClose();
  std::optional<Batch> computing = scheduler_.NextBatch();
  call.Close();
  EXPECT_TRUE(call.is_held()) << "an executor still computes its request";
  computing->requests.front()->Finish(Right());
  computing.reset();
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
}

TEST_F(ServedCallsTest, AnErrorHasTheMessageOfTheService) {
  FakeCall call(server_, kClassify);
  call.Send(GrpcFrame(v1::ClassifyRequest()));
  call.HalfClose();
  EXPECT_TRUE(call.stream().is_trailers_only());
  EXPECT_EQ(call.stream().Value("grpc-status"), "3");
  EXPECT_THAT(metrics_.Text(), HasSubstr("method=\"Classify\",code=\"INVALID_ARGUMENT\"} 1"));
  FakeCall malformed(server_, kClassify);
  malformed.Send(std::string("\0\0\0\0\1\xff", 6));
  malformed.HalfClose();
  EXPECT_EQ(malformed.stream().Value("grpc-message"), "the message cannot be parsed as vitrine.v1.ClassifyRequest");
}

TEST_F(ServedCallsTest, TheDeadlineUsesTheSteadyClock) {
  FakeCall call(server_, kClassify, {{"grpc-timeout", "5S"}});
  clock_.Advance(absl::Seconds(6));
  call.SendMessage(Tensor());
  call.HalfClose();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
}

TEST_F(ServedCallsTest, AStreamAnswersInAnyOrderById) {
  FakeCall call(server_, kClassifyStream);
  for (const char* const id : {"a", "b", ""}) call.SendMessage(Tensor(id));
  call.SendMessage(Tensor("a"));
  call.HalfClose();
  EXPECT_EQ(call.stream().Messages().size(), 2u) << "errors are sent at once";
  EXPECT_FALSE(call.stream().has_ended());
  End(Right());
  End(absl::InvalidArgumentError("damaged"));
  std::vector<std::string> answers;
  for (const auto& message : call.stream().Messages()) {
    const auto answer = Parsed<v1::ClassifyStreamResponse>(message);
    answers.push_back(answer.request_id() + ":" + std::to_string(answer.error().code()));
  }
  EXPECT_THAT(answers, ElementsAre(":3", "a:3", "a:0", "b:3"));
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
  call.stream().Take();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
}

TEST_F(ServedCallsTest, ATooLongIdIsRefusedAndNotReturned) {
  const std::string id(129, 'x');
  FakeCall call(server_, kClassifyStream);
  call.SendMessage(Tensor(id));
  const auto answer = Parsed<v1::ClassifyStreamResponse>(call.stream().Messages().at(0));
  EXPECT_EQ(answer.request_id(), "");
  EXPECT_THAT(answer.error().message(), HasSubstr("request_id is 129 bytes long"));
  FakeCall oip(server_, kInferStream);
  inference::ModelInferRequest request;
  request.set_id(id);
  oip.SendMessage(request);
  EXPECT_EQ(Parsed<inference::ModelStreamInferResponse>(oip.stream().Messages().at(0)).infer_response().id(), "");
}

TEST_F(ServedCallsTest, AStreamStopsReadingIfItsClientDoesNotRead) {
  FakeCall call(server_, kClassifyStream);
  const size_t frame = GrpcFrame(Tensor("00")).size();
  for (int i = 0; i < 70; ++i) call.SendMessage(Tensor(std::to_string(i + 10)));
  EXPECT_EQ(admission_.load().requests, kMaxInFlight);
  EXPECT_EQ(call.stream().consumed(), kMaxInFlight * frame);
  for (int i = 0; i < kMaxInFlight; ++i) End(Right());
  EXPECT_EQ(call.stream().Messages().size(), static_cast<size_t>(kMaxInFlight));
  EXPECT_EQ(call.stream().consumed(), kMaxInFlight * frame) << "the client has not read an answer";
  call.stream().Take();
  for (int i = 0; i < 6; ++i) End(Right());
  EXPECT_EQ(call.stream().consumed(), 70 * frame);
  call.HalfClose();
  call.stream().AwaitEnd();
  EXPECT_EQ(call.stream().Messages().size(), 70u);
}

TEST_F(ServedCallsTest, ADrainingServerEndsAStreamAfterItsAnswers) {
  FakeCall call(server_, kClassifyStream);
  call.SendMessage(Tensor("a"));
  EXPECT_EQ(parts_.streams.open(), 1u);
  parts_.streams.CloseAll();
  call.SendMessage(Tensor("late"));
  EXPECT_FALSE(call.stream().has_ended());
  End(Right());
  EXPECT_EQ(call.stream().Messages().size(), 1u);
  EXPECT_EQ(call.stream().Value("grpc-status"), "14");
  call.Close();
  EXPECT_EQ(parts_.streams.open(), 0u);
  FakeCall next(server_, kClassifyStream);
  EXPECT_EQ(next.stream().Value("grpc-status"), "14") << "a new stream ends at once";
}

TEST_F(ServedCallsTest, ACallEndsWithItsDeadline) {
  FakeCall call(server_, kClassifyStream, {{"grpc-timeout", "5S"}});
  FakeCall unary(server_, kClassify, {{"grpc-timeout", "5S"}});
  FakeCall watch(server_, "/grpc.health.v1.Health/Watch", {{"grpc-timeout", "6S"}});
  call.SendMessage(Tensor("a"));
  watch.SendMessage(grpc::health::v1::HealthCheckRequest());
  watch.HalfClose();
  clock_.Advance(absl::Seconds(4));
  server_.EndExpiredCalls();
  for (FakeCall* const each : {&call, &unary, &watch}) EXPECT_FALSE(each->stream().has_ended());
  clock_.Advance(absl::Seconds(1));
  server_.EndExpiredCalls();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
  EXPECT_EQ(unary.stream().Value("grpc-status"), "4") << "the call ends although its message has not arrived";
  scheduler_.Sweep();
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_FALSE(watch.stream().has_ended());
  clock_.Advance(absl::Seconds(1));
  server_.EndExpiredCalls();
  EXPECT_EQ(watch.stream().Value("grpc-status"), "4");
}

TEST_F(ServedCallsTest, AStreamDropsItsRequestsIfItsClientLeaves) {
  FakeCall call(server_, kClassifyStream);
  for (const char* const id : {"a", "b"}) call.SendMessage(Tensor(id));
  call.Close();
  scheduler_.Sweep();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(parts_.streams.open(), 0u);
}

TEST_F(ServedCallsTest, OipStreamsAnswerInOrder) {
  FakeCall call(server_, kInferStream);
  auto request = testing::Request("UINT8", {1, 8, 8, 3}, std::string(8 * 8 * 3, 'x'));
  request.set_id("first");
  call.SendMessage(request);
  request.set_id("second");
  request.set_model_name("unknown");
  call.SendMessage(request);
  call.HalfClose();
  EXPECT_TRUE(call.stream().Messages().empty()) << "the second answer waits for the first";
  End(absl::UnavailableError("later"));
  const auto messages = call.stream().Messages();
  ASSERT_EQ(messages.size(), 2u);
  const auto first = Parsed<inference::ModelStreamInferResponse>(messages[0]);
  EXPECT_EQ(first.infer_response().id(), "first");
  EXPECT_EQ(first.error_message(), "UNAVAILABLE: later");
  EXPECT_EQ(Parsed<inference::ModelStreamInferResponse>(messages[1]).infer_response().id(), "second");
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
}

// A connection's thread serves other callers too, so it must not parse many values.
TEST_F(ServedCallsTest, ManyTypedValuesAreParsedOnAWorkerThread) {
  std::promise<void> go;
  ASSERT_EQ(server_.body_workers().Do("other", [&] { go.get_future().wait(); }), Workers::Result::kQueued);
  inference::ModelInferRequest request;
  request.set_model_name("missing");
  request.add_inputs()->mutable_contents()->mutable_uint_contents()->Resize(1 << 20, 1);
  FakeCall unary(server_, kInfer), stream(server_, kInferStream);
  for (FakeCall* const call : {&unary, &stream}) {
    call->SendMessage(request);
    call->HalfClose();
    EXPECT_FALSE(call->stream().has_ended());
  }
  go.set_value();
  unary.stream().AwaitEnd();
  EXPECT_EQ(unary.stream().Value("grpc-status"), "5");
  stream.stream().AwaitEnd();
  EXPECT_THAT(Parsed<inference::ModelStreamInferResponse>(stream.stream().Messages().at(0)).error_message(),
              HasSubstr("NOT_FOUND"));
}

}  // namespace
}  // namespace vitrine
