// SPDX-License-Identifier: Apache-2.0
// Tests evaluations with a server that is overloaded, lost, slow or faulty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "absl/time/clock.h"
#include "tests/client/eval/evaluating.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Evaluating, RejectedImagesAreSentAgainAndCountedOnce) {
  std::mutex mutex;
  std::map<std::string, int> seen;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    const std::lock_guard lock(mutex);
    if (++seen[request.image()] <= 7) {  // one call makes fewer retries than this
      return StreamErrorTo(request, grpc::StatusCode::RESOURCE_EXHAUSTED, "full", 0.001F);
    }
    return Answer(request);
  }));
  const Evaluation e = RunWell(Command(server, "out"));
  const EvaluationMetrics m = ComputeMetrics(e);
  EXPECT_EQ(m.ledger.answered, 70);
  EXPECT_EQ(m.ledger.retries, 7 * 70);
  EXPECT_TRUE(m.ledger.complete());
}

TEST_F(Evaluating, WaitsForALostServer) {
  std::atomic<int> answered = 0, streams = 0;
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    if (++streams > 1 && streams < 9) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      stream->Write(Answer(request));
      if (++answered == 30) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going");
    }
    return grpc::Status::OK;
  };
  SmallServer server(methods);
  const Evaluation e = RunWell(Command(server, "out"));
  EXPECT_TRUE(ComputeMetrics(e).ledger.complete());
  EXPECT_THAT(said_.str(), HasSubstr("the server is unreachable"));
}

TEST_F(Evaluating, AfterThePatienceImagesAreMissingUntilALaterRun) {
  std::atomic<bool> gone = false;
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    for (int i = 0; i < 25 && !gone && stream->Read(&request); ++i) stream->Write(Answer(request));
    gone = true;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone for good");
  };
  SmallServer server(methods), later(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.patience = absl::Milliseconds(400);
  const auto part = Run(command);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->stopped.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(part->stopped.message()), AllOf(HasSubstr(server.address()), HasSubstr("gone for good")));
  const EvaluationLedger ledger = ComputeMetrics(part->evaluation).ledger;
  EXPECT_EQ(ledger.answered, 25);
  EXPECT_EQ(ledger.missing, 45);
  EXPECT_EQ(ledger.refused, 0) << "images must not count as refused because the server is lost";
  const Evaluation whole = RunWell(Command(later, "out"));
  EXPECT_TRUE(ComputeMetrics(whole).ledger.complete());
}

TEST_F(Evaluating, AnImageWithoutAnAnswerDoesNotDelayTheOthers) {
  const std::string slow = ImageFile(1, 4);
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      if (request.image() != slow) stream->Write(Answer(request));
    }
    return grpc::Status::OK;
  };
  SmallServer server(methods);
  EvalCommand command = Command(server, "out");
  command.client.deadline = absl::Milliseconds(200);
  command.patience = absl::Milliseconds(900);
  const auto result = Run(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stopped.code(), absl::StatusCode::kDeadlineExceeded) << result->stopped;
  EXPECT_EQ(ComputeMetrics(result->evaluation).ledger.answered, 69);
  EXPECT_EQ(ComputeMetrics(result->evaluation).ledger.missing, 1);
}

TEST_F(Evaluating, AnImageWithAServerErrorIsSentThreeTimesDespiteShortPatience) {
  const std::string cursed = ImageFile(1, 4);
  std::atomic<int> asked = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    absl::SleepFor(absl::Milliseconds(2));  // sending each image once takes longer than command.patience
    if (request.image() != cursed) return Answer(request);
    ++asked;
    return StreamErrorTo(request, grpc::StatusCode::INTERNAL, "the batch was lost");
  }));
  EvalCommand command = Command(server, "out");
  command.patience = absl::Milliseconds(20);
  const EvaluationLedger ledger = ComputeMetrics(RunWell(command)).ledger;
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(ledger.answered, 69);
  EXPECT_EQ(ledger.refused_by_code.at("INTERNAL"), 1);
  EXPECT_EQ(ledger.retries, 2);
}

TEST_F(Evaluating, AnImageThatCrashesTheServerIsNamed) {
  const std::string killer = ImageFile(1, 4);
  std::atomic<int> ended = 0;
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      if (request.image() == killer) {
        ++ended;
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
      }
      stream->Write(Answer(request));
    }
    return grpc::Status::OK;
  };
  SmallServer server(methods);
  const Evaluation e = RunWell(Command(server, "out"));
  const EvaluationMetrics m = ComputeMetrics(e);
  EXPECT_EQ(m.ledger.answered, 69);
  EXPECT_EQ(m.ledger.refused_by_code.at("UNAVAILABLE"), 1);
  EXPECT_THAT(WhatIsMissing(e, m),
              ::testing::Contains(HasSubstr("Class 1/14.png: the server was lost at every attempt: Socket closed")));
  EXPECT_LE(ended, 5 + 3) << "expected the retries of one call, then three more attempts with this image alone";
}

TEST_F(Evaluating, AnErrorThatConcernsEveryImageEndsTheRun) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    return StreamErrorTo(request, grpc::StatusCode::PERMISSION_DENIED, "not for you");
  }));
  const auto result = Run(Command(server, "out"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stopped.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ComputeMetrics(result->evaluation).ledger.missing, 70);
}

TEST_F(Evaluating, AnswersOfOtherWeightsEndTheRun) {
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    return Answer(request, ++answered > 20 ? std::string(64, 'f') : kDigest);
  }));
  const auto result = Run(Command(server, "out"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stopped.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(result->stopped.message()), HasSubstr(std::string(64, 'f')));
  EXPECT_LE(result->evaluation.predictions.size(), 20u);
}

}  // namespace
}  // namespace vitrine
