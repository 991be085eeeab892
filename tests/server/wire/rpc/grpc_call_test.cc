// SPDX-License-Identifier: Apache-2.0
// Tests the gRPC protocol of one call, with a fake stream.
#include "server/wire/rpc/grpc_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/gunzip.h"
#include "common/gzip.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/single_call.h"
#include "tests/server/wire/rpc/fake_stream.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using vitrine::testing::FakeCall;

constexpr char kUnary[] = "/test.Service/Unary";
constexpr char kThrows[] = "/test.Service/Throws";
constexpr char kStream[] = "/test.Service/Stream";
constexpr char kStartsSlowly[] = "/test.Service/StartsSlowly";
constexpr int64_t kMaxBytes = 100'000;

std::string Framed(const std::string& message, char flag = 0) {
  std::string frame = {flag};
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(message.size() >> shift));
  return frame + message;
}

// A call that answers its message with the same bytes.
class Echo final : public SingleCall {
 public:
  explicit Echo(GrpcOpening opening) : SingleCall(std::move(opening), kMaxBytes) {
    initial_metadata_ = {{"x-first", "1"}};
    trailing_metadata_ = {{"x-last", "2"}};
  }

 private:
  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    if (!message.ok()) return Finish(message.status());
    Compress(Framed((*message)->bytes), [self = std::static_pointer_cast<Echo>(shared_from_this())](std::string frame) {
      self->FinishWith(std::move(frame));
    });
  }
};

// A call whose work throws on a worker thread.
class Throws final : public SingleCall {
 public:
  explicit Throws(GrpcOpening opening) : SingleCall(std::move(opening), kMaxBytes) {}

 private:
  void OnRequest(absl::StatusOr<MessageBytes>) override {
    EXPECT_TRUE(RunOn(server().body_workers(), network(), [] { throw std::runtime_error("from a library"); }).ok());
  }
};

// A stream that answers each message with the same bytes. It pauses after the message "pause".
class EchoStream final : public GrpcCall {
 public:
  explicit EchoStream(GrpcOpening opening) : GrpcCall(std::move(opening), kMaxBytes, false) {}
  using GrpcCall::ResumeReading;

 private:
  void OnMessage(absl::StatusOr<MessageBytes> message) override {
    if (!message.ok()) return Fault(message.status());
    if ((*message)->bytes == "pause") PauseReading();
    SendMessage(Framed((*message)->bytes));
  }
  void OnHalfClosed() override { Finish(absl::OkStatus()); }
};

// A call whose deadline passes while it starts.
class StartsSlowly final : public SingleCall {
 public:
  StartsSlowly(GrpcOpening opening, FakeClock& clock) : SingleCall(std::move(opening), kMaxBytes), clock_(clock) {}

 private:
  void Start() override {
    clock_.Advance(absl::Seconds(2));
    server().EndExpiredCalls();  // as the server's own thread may do
    has_started_ = true;
  }
  void OnRequest(absl::StatusOr<MessageBytes>) override {}
  void OnFault(const absl::Status& why) override {
    EXPECT_TRUE(has_started_);
    Finish(why);
  }

  FakeClock& clock_;
  bool has_started_ = false;
};

class GrpcCallTest : public ::testing::Test {
 protected:
  GrpcCallTest() {
    server_.Add(kUnary, [](GrpcOpening opening) { return std::make_shared<Echo>(std::move(opening)); });
    server_.Add(kThrows, [](GrpcOpening opening) { return std::make_shared<Throws>(std::move(opening)); });
    server_.Add(kStartsSlowly,
                [this](GrpcOpening opening) { return std::make_shared<StartsSlowly>(std::move(opening), clock_); });
    server_.Add(kStream, [this](GrpcOpening opening) {
      const auto call = std::make_shared<EchoStream>(std::move(opening));
      last_ = call;
      return call;
    });
    EXPECT_TRUE(server_.Start().ok());
  }

  // Returns the code and the message of a unary call with this body.
  std::string StatusOf(const std::string& body, const HttpHeaders& metadata = {}) {
    FakeCall call(server_, kUnary, metadata);
    call.Send(body);
    if (!call.stream().has_ended()) call.HalfClose();
    call.stream().AwaitEnd();
    return call.stream().Value("grpc-status") + " " + call.stream().Value("grpc-message");
  }

  const std::shared_ptr<ByteBudget> received_ = std::make_shared<ByteBudget>(4 * kMaxBytes);
  FakeClock clock_;
  std::weak_ptr<EchoStream> last_;
  GrpcServer server_{{.max_message_bytes = kMaxBytes, .received = received_, .unknown_hint = "; see there"}, clock_};
};

TEST_F(GrpcCallTest, AMessageMayBeSplitAnywhere) {
  const std::string body = Framed("hello");
  for (size_t cut = 0; cut <= body.size(); ++cut) {
    FakeCall call(server_, kUnary);
    call.Send(body.substr(0, cut));
    call.Send(body.substr(cut));
    EXPECT_TRUE(call.stream().Messages().empty()) << "the answer must wait until the client half-closes";
    call.HalfClose();
    EXPECT_THAT(call.stream().Messages(), ElementsAre(Pair(false, "hello")));
    EXPECT_EQ(call.stream().Value(":status"), "200");
    EXPECT_EQ(call.stream().Value("content-type"), "application/grpc");
    EXPECT_EQ(call.stream().Value("grpc-accept-encoding"), "identity, gzip");
    EXPECT_EQ(call.stream().Value("grpc-encoding"), "(none)");
    EXPECT_EQ(call.stream().Value("x-first"), "1");
    EXPECT_EQ(call.stream().Value("grpc-status"), "0");
    EXPECT_EQ(call.stream().Value("x-last"), "2");
    EXPECT_EQ(call.stream().consumed(), body.size());
  }
  EXPECT_EQ(received_->used(), 0);
}

TEST_F(GrpcCallTest, AUnaryCallHasExactlyOneMessage) {
  EXPECT_THAT(StatusOf(""), HasSubstr("13 Unable to parse request"));
  EXPECT_THAT(StatusOf(Framed("cut").substr(0, 7)), HasSubstr("13 Unable to parse request"));
  EXPECT_THAT(StatusOf(Framed("") + Framed("")), HasSubstr("12 the method accepts one message"));
  EXPECT_EQ(StatusOf(Framed("")), "0 (none)");
}

TEST_F(GrpcCallTest, ACallKeepsOnlyTheHeadersThatItReads) {
  const auto request =
      testing::GrpcRequest(kStream, {{"authorization", "Bearer x"}, {"x-large", std::string(5000, 'x')}});
  EXPECT_NE(server_.Begin(request).open, nullptr);
  EXPECT_EQ(request->Header("authorization"), "Bearer x");
  EXPECT_FALSE(request->Header("x-large").has_value());
}

TEST_F(GrpcCallTest, AnExceptionOnAWorkerEndsOnlyItsCall) {
  FakeCall call(server_, kThrows);
  call.Send(Framed("hello"));
  call.HalfClose();
  call.stream().AwaitEnd();
  EXPECT_EQ(call.stream().Value("grpc-status"), "13");
  EXPECT_EQ(call.stream().Value("grpc-message"), "the server failed on this request; its log says more");
  EXPECT_EQ(StatusOf(Framed("")), "0 (none)");
}

TEST_F(GrpcCallTest, RefusesATooLargeMessageByItsPrefix) {
  FakeCall call(server_, kUnary);
  call.Send(Framed(std::string(kMaxBytes + 1, 'x')).substr(0, 6));
  EXPECT_TRUE(call.stream().is_trailers_only());
  EXPECT_EQ(call.stream().Value("grpc-status"), "8");
  EXPECT_EQ(call.stream().Value("grpc-message"),
            "Received message larger than max (100001 vs. 100000); this is the server's limit of a request, "
            "--max-message-bytes");
  call.Send(std::string(1000, 'x'));
  EXPECT_EQ(call.stream().consumed(), 1006u) << "later bytes must be consumed, or the flow-control window would shrink";
  EXPECT_EQ(received_->used(), 0);
}

TEST_F(GrpcCallTest, CountsReceivedBytesWhileItHoldsThem) {
  std::vector<std::unique_ptr<FakeCall>> calls;
  for (int i = 0; i < 5; ++i) {
    FakeCall& call = *calls.emplace_back(std::make_unique<FakeCall>(server_, kUnary));
    call.Send(Framed(std::string(kMaxBytes, 'x')).substr(0, 5 + kMaxBytes / 2));
    call.Send(std::string(kMaxBytes / 2, 'x'));
    EXPECT_EQ(call.stream().has_ended(), i == 4);
  }
  EXPECT_EQ(received_->used(), 4 * kMaxBytes);
  EXPECT_EQ(calls.back()->stream().Value("grpc-status"), "8");
  EXPECT_NE(calls.back()->stream().Value("grpc-status-details-bin"), "(none)") << "the status has a retry time";
  calls.pop_back();
  calls.pop_back();
  EXPECT_EQ(received_->used(), 3 * kMaxBytes);
  calls.clear();
  EXPECT_EQ(received_->used(), 0);
}

TEST_F(GrpcCallTest, ReadsTheCompressedFlag) {
  const HttpHeaders gzip = {{"grpc-encoding", "gzip"}};
  EXPECT_EQ(StatusOf(Framed(Gzip("hello"), 1), gzip), "0 (none)");
  EXPECT_EQ(StatusOf(Framed("hello"), gzip), "0 (none)") << "a message may be uncompressed";
  EXPECT_EQ(StatusOf(Framed("", 1), gzip), "0 (none)");
  EXPECT_THAT(StatusOf(Framed(Gzip("hello"), 1)), HasSubstr("13 the compressed flag of a message is set"));
  EXPECT_THAT(StatusOf(Framed("", 2), gzip), HasSubstr("13 Bad GRPC frame type 0x02"));
  EXPECT_THAT(StatusOf(Framed("no gzip", 1), gzip), HasSubstr("3 "));
  EXPECT_THAT(StatusOf(Framed("hello"), {{"grpc-encoding", "br"}}), HasSubstr("12 grpc-encoding is \"br\""));
  EXPECT_THAT(StatusOf(Framed(Gzip(std::string(kMaxBytes + 1, 'x')), 1), gzip), HasSubstr("8 "));
  EXPECT_THAT(StatusOf(Framed(Gzip(std::string(80'000, 'x')), 1), gzip), HasSubstr("8 "))
      << "the message expands more than 64 times";
  EXPECT_EQ(received_->used(), 0);
}

TEST_F(GrpcCallTest, CompressesTheAnswerToACompressedRequest) {
  const std::string text(60'000, 'x');
  for (const bool accepts : {true, false}) {
    FakeCall call(server_, kUnary,
                  {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", accepts ? "identity,gzip" : "identity"}});
    call.Send(Framed(Gzip(text), 1));
    call.HalfClose();
    call.stream().AwaitEnd();
    const auto messages = call.stream().Messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].first, accepts);
    EXPECT_EQ(accepts ? Gunzip(messages[0].second, 1 << 20).value_or("") : messages[0].second, text);
    EXPECT_EQ(call.stream().Value("grpc-encoding"), accepts ? "gzip" : "(none)");
  }
}

TEST_F(GrpcCallTest, RefusesRequestsThatAreNotCalls) {
  const auto http = [&](const std::string& method, const std::string& type) {
    const auto request = testing::GrpcRequest(kUnary);
    request->head.method = method;
    request->head.headers[0].second = type;
    const HttpHandling next = server_.Begin(request);
    return next.response.has_value() ? next.response->code : 0;
  };
  EXPECT_EQ(http("POST", "application/grpc"), 0);
  EXPECT_EQ(http("POST", "application/grpc-web"), 415);
  EXPECT_EQ(http("POST", "application/grpc+json"), 415);
  EXPECT_EQ(http("GET", "application/grpc"), 405);
  EXPECT_EQ(http("POST", "application/json"), 415);
  const auto json = testing::GrpcRequest(kUnary);
  json->head.headers[0].second = "application/json";
  EXPECT_TRUE(server_.Takes(*json)) << "the path is that of a call";
  json->head.path = "/v1/models";
  EXPECT_FALSE(server_.Takes(*json));
  for (const char* const path : {"/test.Service/Other", "/other.Service/Unary", "/", "", "/test.Service/Unary/"}) {
    FakeCall call(server_, path);
    EXPECT_TRUE(call.stream().is_trailers_only());
    EXPECT_EQ(call.stream().Value("grpc-status"), "12") << path;
    EXPECT_THAT(call.stream().Value("grpc-message"), ::testing::EndsWith(" here; see there")) << path;
  }
  EXPECT_THAT(StatusOf(Framed(""), {{"grpc-timeout", "soon"}}), HasSubstr("3 grpc-timeout is \"soon\""));
  EXPECT_THAT(StatusOf(Framed(""), {{"grpc-timeout", "0S"}}), HasSubstr("4 "));
  EXPECT_THAT(server_.services(), ElementsAre("test.Service"));
}

TEST_F(GrpcCallTest, ReturnsTheIdOfTheRequest) {
  FakeCall call(server_, kUnary, {{"x-request-id", "abc"}});
  call.Send(Framed(""));
  call.HalfClose();
  EXPECT_EQ(call.stream().Value("x-request-id"), "abc");
}

TEST_F(GrpcCallTest, ASlowMessageEndsTheCall) {
  FakeCall call(server_, kUnary);
  EXPECT_TRUE(call.stream().awaits_body());
  call.Send(Framed("hello").substr(0, 7));
  call.TooSlow();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
}

TEST_F(GrpcCallTest, ADeadlineEndsOnlyACallThatHasStarted) {
  FakeCall call(server_, kStartsSlowly, {{"grpc-timeout", "1S"}});
  EXPECT_FALSE(call.stream().has_ended());
  server_.EndExpiredCalls();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
}

TEST_F(GrpcCallTest, AStreamHasATimeLimitOnlyInsideAMessage) {
  FakeCall call(server_, kStream);
  EXPECT_FALSE(call.stream().awaits_body());
  call.Send(Framed("one") + Framed("two").substr(0, 1));
  EXPECT_TRUE(call.stream().awaits_body());
  call.Send(Framed("two").substr(1));
  EXPECT_FALSE(call.stream().awaits_body());
  EXPECT_EQ(call.stream().Messages().size(), 2u);
  call.HalfClose();
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
}

TEST_F(GrpcCallTest, APausedStreamConsumesNoMoreBytes) {
  FakeCall call(server_, kStream);
  const std::string first = Framed("pause");
  call.Send(first + Framed("two"));
  call.Send(Framed("three"));
  call.HalfClose();
  EXPECT_EQ(call.stream().Messages().size(), 1u);
  EXPECT_EQ(call.stream().consumed(), first.size());
  EXPECT_EQ(received_->used(), 18) << "waiting bytes are counted";
  last_.lock()->ResumeReading();
  call.stream().AwaitEnd();
  EXPECT_THAT(call.stream().Messages(), ElementsAre(Pair(false, "pause"), Pair(false, "two"), Pair(false, "three")));
  EXPECT_EQ(call.stream().consumed(), first.size() + 18);
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
  EXPECT_EQ(received_->used(), 0);
}

TEST_F(GrpcCallTest, CompressedAndPlainMessagesKeepTheirOrder) {
  FakeCall call(server_, kStream, {{"grpc-encoding", "gzip"}});
  std::string body;
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    body += i % 3 == 0 ? Framed(Gzip(text), 1) : Framed(text);
  }
  for (size_t at = 0; at < body.size(); at += 11) call.Send(absl::string_view(body).substr(at, 11));
  call.HalfClose();
  call.stream().AwaitEnd();
  const auto messages = call.stream().Messages();
  ASSERT_EQ(messages.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(messages[i].second, std::to_string(i));
  EXPECT_EQ(call.stream().consumed(), body.size());
}

TEST_F(GrpcCallTest, CountsTheBytesBehindAMessageThatWaitsForDecompression) {
  std::promise<void> go;
  ASSERT_EQ(server_.body_workers().Do("other", [&] { go.get_future().wait(); }), Workers::Result::kQueued);
  FakeCall call(server_, kStream, {{"grpc-encoding", "gzip"}});
  const std::string packed = Gzip("one"), rest = Framed("two") + Framed("three");
  call.Send(Framed(packed, 1) + rest);
  EXPECT_EQ(received_->used(), static_cast<int64_t>(packed.size() + rest.size()));
  go.set_value();
  call.HalfClose();
  call.stream().AwaitEnd();
  EXPECT_THAT(call.stream().Messages(), ElementsAre(Pair(false, "one"), Pair(false, "two"), Pair(false, "three")));
  EXPECT_EQ(received_->used(), 0);

  FakeCall full(server_, kStream, {{"grpc-encoding", "gzip"}});
  BudgetShare other(received_);
  ASSERT_TRUE(other.Add(received_->limit() - static_cast<int64_t>(packed.size())));
  full.Send(Framed(packed, 1) + rest);
  EXPECT_EQ(full.stream().Value("grpc-status"), "8");
  EXPECT_EQ(full.stream().consumed(), Framed(packed).size() + rest.size());
}

// One network fills a quarter of the queue for compressed messages at most, so that other callers still have room.
TEST_F(GrpcCallTest, ANetworkMayQueueOnlyAPartOfTheCompressedMessages) {
  std::promise<void> go;
  ASSERT_EQ(server_.body_workers().Do("other", [&] { go.get_future().wait(); }), Workers::Result::kQueued);
  const std::string body = Framed(Gzip("x"), 1);
  std::list<FakeCall> calls;
  const auto send = [&]() -> FakeCall& {
    FakeCall& call = calls.emplace_back(server_, kUnary, HttpHeaders{{"grpc-encoding", "gzip"}});
    call.Send(body);
    call.HalfClose();
    return call;
  };
  for (int i = 0; i < 1024; ++i) EXPECT_FALSE(send().stream().has_ended()) << i;
  FakeCall& further = send();
  EXPECT_TRUE(further.stream().has_ended());
  EXPECT_EQ(further.stream().Value("grpc-status"), "8");
  EXPECT_THAT(further.stream().Value("grpc-message"), HasSubstr("too many calls of the caller"));
  EXPECT_EQ(server_.body_workers().Do("third", [] {}), Workers::Result::kQueued);
  go.set_value();
  for (FakeCall& call : calls) call.stream().AwaitEnd();
  EXPECT_EQ(calls.front().stream().Value("grpc-status"), "0");
}

TEST_F(GrpcCallTest, AClosedCallHoldsNoResources) {
  FakeCall call(server_, kUnary);
  call.Send(Framed(std::string(1000, 'x')).substr(0, 500));
  EXPECT_TRUE(call.is_held());
  call.Close();
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(received_->used(), 0);
}

}  // namespace
}  // namespace vitrine
