// A whole evaluation against a real gRPC server whose answers a test decides.
#include "client/eval/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/eval/journal.h"
#include "client/eval/merge.h"
#include "client/eval/metrics.h"
#include "client/eval/summary.h"
#include "data/raw_png.h"
#include "imaging/decode.h"
#include "tests/client/small_server.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kClasses = 10;
const std::string kDigest(64, 'd');

v1::ModelVersion Described(const std::string& digest = kDigest) {
  v1::ModelVersion version;
  version.set_model("m");
  version.set_version(3);
  version.set_state(v1::READY);
  version.set_weights_sha256(digest);
  for (int i = 0; i < kClasses; ++i) version.add_labels(absl::StrCat("class ", i));
  return version;
}

// A grey picture that says its class, and which of its class it is.
std::string Picture(int label, int number) {
  Image image{.width = 4, .height = 4, .channels = 1, .pixels = {}};
  image.pixels.assign(16, static_cast<uint8_t>(20 * label));
  image.pixels[0] = static_cast<uint8_t>(number);
  return *RawToPng(image);
}

// The right class, but for every seventh picture of a class the next one; less sure the higher its number.
v1::ClassifyStreamResponse Answer(const v1::ClassifyRequest& request, const std::string& digest = kDigest) {
  const auto image = Decode(request.image());
  if (!image.ok()) {
    return StreamErrorTo(request, grpc::StatusCode::INVALID_ARGUMENT, std::string(image.status().message()));
  }
  const int label = image->pixels[5] / 20, number = image->pixels[0];
  const int first = number % 7 == 6 ? (label + 1) % kClasses : label;
  v1::ClassifyStreamResponse answer;
  answer.set_request_id(request.request_id());
  v1::ClassifyResponse& response = *answer.mutable_response();
  for (int i = 0; i < request.top_k(); ++i) {
    v1::Prediction& guess = *response.add_predictions();
    guess.set_index((first + i) % kClasses);
    guess.set_probability(i == 0 ? 0.9F - 0.01F * static_cast<float>(number) : 0.02F);
  }
  response.mutable_served_by()->set_version(3);
  response.mutable_served_by()->set_weights_sha256(digest);
  response.mutable_served_by()->set_precision("fp32");
  response.mutable_served_by()->set_device("cpu");
  response.mutable_timings()->set_total(0.004F);
  return answer;
}

using Respond = std::function<v1::ClassifyStreamResponse(const v1::ClassifyRequest&)>;

SmallServer::Methods Methods(Respond respond, const v1::ModelVersion& model = Described()) {
  SmallServer::Methods methods;
  *methods.models.add_versions() = model;
  methods.stream = [respond](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) stream->Write(respond(request));
    return grpc::Status::OK;
  };
  return methods;
}

v1::ClassifyStreamResponse PlainAnswer(const v1::ClassifyRequest& request) {
  return Answer(request);
}

class Evaluating : public ::testing::Test {
 protected:
  Evaluating() {
    for (int label = 0; label < 5; ++label) {
      for (int i = 0; i < 14; ++i) {
        folder_.Write(absl::StrCat("data/Class ", label, "/", 10 + i, ".png"), Picture(label, i));
      }
    }
  }

  EvalCommand Command(const SmallServer& server, const std::string& out) const {
    EvalCommand command;
    command.client.address = server.address();
    command.client.retry.initial_backoff = absl::Milliseconds(2);
    command.client.retry.max_backoff = absl::Milliseconds(10);
    command.model.name = "m";
    command.data = "imagefolder:" + folder_.Path("data");
    command.out = folder_.Path(out);
    command.patience = absl::Seconds(20);
    return command;
  }
  absl::StatusOr<EvalResult> Run(const EvalCommand& command, const std::atomic<bool>* stop = nullptr) {
    ProgressDisplay display(said_, {});
    return RunEvaluation(command, display, stop);
  }
  // Runs to the end without anything going wrong.
  Evaluation RunWell(const EvalCommand& command) {
    const auto result = Run(command);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_TRUE(result->stopped.ok()) << result->stopped;
    return result->evaluation;
  }
  std::string Csv(const std::string& out) const { return folder_.Read(out + "/predictions.csv"); }
  // What must not depend on how a run went.
  static std::string Scores(const Evaluation& evaluation) {
    nlohmann::ordered_json json = SummaryJson(evaluation, ComputeMetrics(evaluation));
    json.erase("run");
    return json.dump(1);
  }

  const ScratchFolder folder_;
  std::ostringstream said_;
};

TEST_F(Evaluating, EveryPictureIsCountedOnceAndNothingIsDropped) {
  folder_.Write("data/Class 0/nothing.png", "");
  folder_.Write("data/Class 1/text.jpg", "This is no picture.");
  std::string damaged = Picture(2, 3);
  damaged[damaged.size() - 14] ^= 0x55;  // a checksum of pixels
  folder_.Write("data/Class 2/damaged.png", damaged);
  folder_.Write("data/zebra/1.png", Picture(9, 1));
  SmallServer server(Methods(PlainAnswer));
  const Evaluation e = RunWell(Command(server, "out"));
  const EvaluationMetrics m = ComputeMetrics(e);
  EXPECT_EQ(m.ledger.pictures, 74);
  EXPECT_EQ(m.ledger.answered, 70);
  EXPECT_EQ(m.ledger.unreadable, 2);
  EXPECT_EQ(m.ledger.unlabelled, 1);
  EXPECT_EQ(m.ledger.refused_by_code.at("INVALID_ARGUMENT"), 1);
  EXPECT_EQ(m.ledger.missing, 0);
  EXPECT_FALSE(m.ledger.complete());
  EXPECT_EQ(m.top1_correct, 60) << "two of fourteen pictures of a class are taken for the next one";
  EXPECT_THAT(said_.str(), AllOf(HasSubstr("no class for 1 of the data set's 6 labels: zebra"),
                                 HasSubstr("74 of 74  100 %"), HasSubstr("1 refused  2 unreadable  1 unlabelled")));
  EXPECT_THAT(Csv("out"), AllOf(HasSubstr("index,name,label,predicted,correct,in_top5,outcome,code\n"),
                                HasSubstr("0,Class 0/10.png,Class 0,class 0,1,1,answered,\n"),
                                HasSubstr("Class 2/damaged.png,Class 2,,,,refused,INVALID_ARGUMENT\n"),
                                HasSubstr("Class 1/text.jpg,Class 1,,,,unreadable,INVALID_ARGUMENT\n"),
                                HasSubstr("zebra/1.png,zebra,,,,unlabelled,\n")));
  EXPECT_THAT(WhatIsMissing(e, m), ::testing::Contains(HasSubstr("zebra/1.png: the model has no class \"zebra\"")));
  EXPECT_THAT(folder_.Read("out/predictions.jsonl"),
              AllOf(StartsWith("{\"index\":0,\"name\":\"Class 0/10.png\",\"label\":\"Class 0\",\"class\":0,"),
                    HasSubstr("\"guesses\":[{\"index\":0,\"label\":\"class 0\",\"probability\":0.9}")));
}

TEST_F(Evaluating, LatencyIsFromSendingToAnswer) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    absl::SleepFor(absl::Milliseconds(3));  // what is measured
    return Answer(request);
  }));
  for (const Prediction& p : RunWell(Command(server, "out")).predictions) {
    EXPECT_GE(p.seconds.client, 0.003) << p.name;
    EXPECT_FLOAT_EQ(static_cast<float>(p.seconds.server), 0.004F);
  }
}

TEST_F(Evaluating, ATornAndContinuedRunEqualsOneThatWasNot) {
  SmallServer server(Methods(PlainAnswer));
  const Evaluation whole = RunWell(Command(server, "whole"));
  RunWell(Command(server, "torn"));
  const std::string journal = folder_.Read("torn/journal");
  for (size_t bytes = journal.size(); bytes > 0; bytes -= std::min<size_t>(bytes, 1999)) {
    folder_.Write("torn/journal", journal.substr(0, bytes));
    std::filesystem::remove(folder_.Path("torn/predictions.csv"));
    const Evaluation torn = RunWell(Command(server, "torn"));
    ASSERT_EQ(Csv("torn"), Csv("whole")) << "torn after " << bytes << " of " << journal.size() << " bytes";
    ASSERT_EQ(Scores(torn), Scores(whole));
  }
}

TEST_F(Evaluating, AStoppedRunContinuesAndAsksNothingTwice) {
  std::atomic<int> asked = 0;
  std::atomic<bool> stop = false;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (++asked == 20) stop = true;
    return Answer(request);
  }));
  EvalCommand command = Command(server, "out");
  command.client.max_in_flight = 4;
  const auto part = Run(command, &stop);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->stopped.code(), absl::StatusCode::kCancelled);
  const auto known = static_cast<int64_t>(part->evaluation.predictions.size());
  EXPECT_GE(known, 20);
  EXPECT_LT(known, 70);
  EXPECT_EQ(ComputeMetrics(part->evaluation).ledger.missing, 70 - known);
  const Evaluation rest = RunWell(Command(server, "out"));
  EXPECT_EQ(rest.predictions.size(), 70u);
  EXPECT_EQ(rest.sessions.size(), 2u);
  EXPECT_EQ(asked, 70);
  RunWell(Command(server, "out"));
  EXPECT_EQ(asked, 70) << "a finished run asks nothing";
}

TEST_F(Evaluating, ShardsMergedEqualOneRun) {
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "whole");
  const Evaluation whole = RunWell(command);
  MergeOptions merge{.out = folder_.Path("merged")};
  for (int64_t i = 1; i <= 3; ++i) {
    command.shard = {i, 3};
    command.out = folder_.Path(absl::StrCat("part", i));
    merge.folders.push_back(command.out);
    EXPECT_EQ(RunWell(command).expected, i == 1 ? 24 : 23);
  }
  const auto merged = MergeEvaluations(merge);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(Csv("merged"), Csv("whole"));
  EXPECT_EQ(Scores(*merged), Scores(whole));
  EXPECT_EQ(MergeEvaluations(merge).status().code(), absl::StatusCode::kAlreadyExists);

  merge.out = folder_.Path("part");
  merge.folders = {folder_.Path("part1"), folder_.Path("part3")};
  const absl::Status gap = MergeEvaluations(merge).status();
  EXPECT_THAT(std::string(gap.message()), AllOf(HasSubstr("shard 2/3 is missing"), HasSubstr("--allow-missing")));
  merge.allow_missing = true;
  const auto part = MergeEvaluations(merge);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(ComputeMetrics(*part).ledger.missing, 23);
  command.shard = {};
  command.out = folder_.Path("part");
  EXPECT_EQ(Scores(RunWell(command)), Scores(whole)) << "a run continues what was merged";
  EXPECT_EQ(Csv("part"), Csv("whole"));

  merge = {.folders = {folder_.Path("part1"), folder_.Path("part1")}, .out = folder_.Path("x")};
  EXPECT_THAT(std::string(MergeEvaluations(merge).status().message()), HasSubstr("both shard 1/3"));
  merge.folders = {folder_.Path("part1"), folder_.Path("whole")};
  EXPECT_EQ(MergeEvaluations(merge).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Evaluating, ShardsOfOtherModelsAreNotMerged) {
  SmallServer server(Methods(PlainAnswer));
  SmallServer other(Methods([](const auto& request) { return Answer(request, std::string(64, 'e')); },
                            Described(std::string(64, 'e'))));
  EvalCommand first = Command(server, "one"), second = Command(other, "two");
  first.shard = {1, 2};
  second.shard = {2, 2};
  RunWell(first);
  RunWell(second);
  EXPECT_THAT(
      std::string(MergeEvaluations({.folders = {first.out, second.out}, .out = folder_.Path("x")}).status().message()),
      HasSubstr("digest of the weights"));
}

TEST_F(Evaluating, AFullServerIsAskedAgainAndNothingIsCountedTwice) {
  std::mutex mutex;
  std::map<std::string, int> seen;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    const std::lock_guard lock(mutex);
    if (++seen[request.image()] <= 7) {  // more often than one call repeats by itself
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

TEST_F(Evaluating, AServerThatGoesAwayIsWaitedFor) {
  std::atomic<int> answered = 0, streams = 0;
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    if (++streams > 1 && streams < 12) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
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
  EXPECT_THAT(said_.str(), HasSubstr("the server is away"));
}

TEST_F(Evaluating, BeyondThePatienceTheRestIsMissingAndALaterRunHasIt) {
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
  EXPECT_EQ(ledger.refused, 0) << "that a server is away is no property of a picture";
  const Evaluation whole = RunWell(Command(later, "out"));
  EXPECT_TRUE(ComputeMetrics(whole).ledger.complete());
}

TEST_F(Evaluating, APictureThatGetsNoAnswerDoesNotHoldUpTheRest) {
  const std::string slow = Picture(1, 4);
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

TEST_F(Evaluating, ADefectOfTheServerIsAskedThreeTimesAndThenCounted) {
  const std::string cursed = Picture(1, 4);
  std::atomic<int> asked = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (request.image() != cursed) return Answer(request);
    ++asked;
    return StreamErrorTo(request, grpc::StatusCode::INTERNAL, "the batch was lost");
  }));
  const Evaluation e = RunWell(Command(server, "out"));
  EXPECT_EQ(asked, 3);
  const EvaluationMetrics m = ComputeMetrics(e);
  EXPECT_EQ(m.ledger.answered, 69);
  EXPECT_EQ(m.ledger.refused_by_code.at("INTERNAL"), 1);
  EXPECT_EQ(m.ledger.retries, 2);
}

TEST_F(Evaluating, WhatNoPictureCanChangeEndsTheRun) {
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

TEST_F(Evaluating, ImpossibleAnswersAreNoPredictions) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    answer.mutable_response()->mutable_predictions(0)->set_index(kClasses);
    return answer;
  }));
  EXPECT_EQ(ComputeMetrics(RunWell(Command(server, "out"))).ledger.refused_by_code.at("INTERNAL"), 70);
}

TEST_F(Evaluating, WhatCannotWorkIsRefusedBeforeTheFirstPicture) {
  std::atomic<int> asked = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    ++asked;
    return Answer(request);
  }));
  EvalCommand command = Command(server, "out");
  folder_.Write("animals/cat/1.png", Picture(0, 0));
  command.data = "imagefolder:" + folder_.Path("animals");
  EXPECT_THAT(std::string(Run(command).status().message()), AllOf(HasSubstr("\"cat\""), HasSubstr("\"class 0\"")));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("out"))) << "nothing was begun";
  std::filesystem::create_directories(folder_.Path("empty/cat"));
  command.data = "imagefolder:" + folder_.Path("empty");
  EXPECT_THAT(std::string(Run(command).status().message()), HasSubstr("holds no picture"));
  command.data = "imagefolder:" + folder_.Path("nowhere");
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  command = Command(server, "out");
  command.model.name = "n";
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  command = Command(server, "out");
  command.client.address = "127.0.0.1:1";
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(asked, 0);
}

TEST_F(Evaluating, LabelsAreMappedByAFileAndACsvListsPictures) {
  folder_.Write("list.csv",
                "file,label\n\"data/Class 0/10.png\",kitten\ndata/Class 1/11.png,puppy\ndata/Class 9/none.png,puppy\n");
  folder_.Write("map.tsv", "kitten\tclass 0\npuppy\t1\n");
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.data = "csv:" + folder_.Path("list.csv");
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kInvalidArgument);
  command.label_map = folder_.Path("map.tsv");
  const EvaluationMetrics m = ComputeMetrics(RunWell(command));
  EXPECT_EQ(m.top1_correct, 2);
  EXPECT_EQ(m.ledger.unreadable, 1);
  EXPECT_THAT(Csv("out"), HasSubstr("data/Class 9/none.png,puppy,,,,unreadable,NOT_FOUND"));
}

}  // namespace
}  // namespace vitrine
