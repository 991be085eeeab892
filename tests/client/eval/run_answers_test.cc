// SPDX-License-Identifier: Apache-2.0
// Tests the requests of an evaluation, and the values that it stores from the answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "client/eval/eval_gates.h"
#include "client/eval/likelihood.h"
#include "tests/client/eval/evaluating.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Evaluating, RequestsHaveTheOptionsOfTheCommand) {
  std::mutex mutex;
  v1::ClassifyRequest last;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    const std::lock_guard lock(mutex);
    last = request;
    return Answer(request);
  }));
  EvalCommand command = Command(server, "out");
  command.limit = 1;
  EXPECT_EQ(RunWell(command).predictions[0].guesses.size(), 5u);
  EXPECT_EQ(last.model(), "m");
  EXPECT_EQ(last.version(), 3);
  EXPECT_EQ(last.top_k(), 10) << "all classes must be requested, although only five guesses are stored";
  EXPECT_EQ(last.priority(), v1::LOW);
  EXPECT_FALSE(last.has_resolution());
  command.out = folder_.Path("other");
  command.top_k = 20;
  command.priority = v1::HIGH;
  command.resolution.emplace().set_height(8);
  EXPECT_EQ(RunWell(command).predictions[0].guesses.size(), 10u)
      << "the number of guesses must not exceed the number of classes";
  EXPECT_EQ(last.top_k(), 10);
  EXPECT_EQ(last.priority(), v1::HIGH);
  EXPECT_EQ(last.resolution().height(), 8);
  command.top_k = 4;
  EXPECT_EQ(Run(command).status().message(), "top_k must be at least 5, for the top-5 accuracy");
  command = Command(server, "out");
  command.out = "";
  EXPECT_EQ(Run(command).status().message(), "--out is missing, the folder for the results");
}

TEST_F(Evaluating, MoreThanAThousandClassesAreRequestedOnlyIfTheyAreStored) {
  for (const int classes : {kMostClassesRequested, kMostClassesRequested + 1}) {
    v1::ModelVersion many = Described();
    while (many.labels_size() < classes) many.add_labels(absl::StrCat("class ", many.labels_size()));
    std::mutex mutex;
    int top_k = 0;
    const auto respond = [&](const v1::ClassifyRequest& request) {
      const std::lock_guard lock(mutex);
      top_k = request.top_k();
      v1::ClassifyRequest fewer = request;
      fewer.set_top_k(5);
      return Answer(fewer);
    };
    SmallServer server(Methods(respond, many));
    EvalCommand command = Command(server, absl::StrCat("out-", classes));
    command.limit = 1;
    const Evaluation evaluation = RunWell(command);
    EXPECT_EQ(top_k, classes == kMostClassesRequested ? classes : 5);
    EXPECT_EQ(evaluation.predictions[0].guesses.size(), 5u);
    EXPECT_FALSE(evaluation.predictions[0].likelihood.has_value()) << "an answer with five classes has no likelihood";
    command.out = folder_.Path(absl::StrCat("all-", classes));
    command.top_k = classes;
    RunWell(command);
    EXPECT_EQ(top_k, classes);
  }
}

TEST_F(Evaluating, AnAnswerWithAllClassesHasALikelihood) {
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.limit = 1;
  const Evaluation evaluation = RunWell(command);
  ASSERT_TRUE(evaluation.predictions[0].likelihood.has_value());
  EXPECT_NEAR(evaluation.predictions[0].likelihood->right, 0.9, 1e-6);
  EXPECT_NEAR(evaluation.predictions[0].likelihood->squares, 0.81 + 0.01 / 9, 1e-6);
  EXPECT_TRUE(ComputeMetrics(evaluation).nll.has_value());
}

TEST_F(Evaluating, AnImpossibleGateIsRefusedBeforeTheRun) {
  v1::ModelVersion few = Described();
  few.mutable_labels()->DeleteSubrange(5, 5);
  std::atomic<int> asked = 0;
  SmallServer server(Methods(
      [&](const v1::ClassifyRequest& request) {
        ++asked;
        return Answer(request);
      },
      few));
  EvalCommand command = Command(server, "out");
  command.gates = {ParseGate("top5>=90%", EvalGateMeasures()).value()};
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
}

TEST_F(Evaluating, ValuesOfAnAnswerAreStored) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    v1::Timings& timings = *answer.mutable_response()->mutable_timings();
    timings.set_queue(0.25F);
    timings.set_decode(0.5F);
    timings.set_compute(0.12345678F);
    timings.set_encode(std::numeric_limits<float>::infinity());
    timings.set_total(4);
    answer.mutable_response()->mutable_grid()->set_rows(2);
    answer.mutable_response()->mutable_grid()->set_columns(3);
    return answer;
  }));
  EvalCommand command = Command(server, "out");
  command.limit = 1;
  const Prediction p = RunWell(command).predictions[0];
  EXPECT_EQ(p.seconds.queue, 0.25);
  EXPECT_EQ(p.seconds.decode, 0.5);
  EXPECT_EQ(p.seconds.compute, 0.1234568) << "times must be rounded to a tenth of a microsecond";
  EXPECT_EQ(p.seconds.encode, 0);
  EXPECT_EQ(p.seconds.server, 4);
  EXPECT_EQ(p.tokens, 6);
  EXPECT_EQ(p.served_by, "fp32 cpu");
  EXPECT_EQ(p.attempts, 1);
}

TEST_F(Evaluating, InvalidAnswersCountAsServerErrors) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    v1::ClassifyResponse& response = *answer.mutable_response();
    const Image image = *Decode(request.image());
    switch (image.pixels[5] / 20) {  // the class of the image
      case 0:
        response.mutable_predictions(0)->set_index(image.pixels[0] == 0 ? -1 : kClasses);
        break;
      case 1:
        response.mutable_predictions(1)->set_probability(std::numeric_limits<float>::quiet_NaN());
        break;
      case 2:
        response.clear_predictions();
        break;
      case 3:
        response.mutable_predictions(0)->set_index(kClasses - 1);
        break;
      default:
        response.mutable_predictions(0)->set_index(0);
    }
    return answer;
  }));
  const Evaluation e = RunWell(Command(server, "out"));
  EXPECT_EQ(ComputeMetrics(e).ledger.refused_by_code.at("INTERNAL"), 3 * 14);
  EXPECT_EQ(ComputeMetrics(e).ledger.answered, 2 * 14) << "answers with the first and the last class are valid";
  EXPECT_THAT(WhatIsMissing(e, ComputeMetrics(e)),
              ::testing::Contains(HasSubstr("the answer names class -1 with probability 0.9; the model has 10")));
  EXPECT_THAT(folder_.Read("out/journal"), HasSubstr("the answer has no predictions"));
}

TEST_F(Evaluating, UpToTenUnknownLabelsAreNamed) {
  SmallServer server(Methods(PlainAnswer));
  for (int i = 0; i < 11; ++i) {
    folder_.Write(absl::StrCat("data/x", 10 + i, "/1.png"), ImageFile(0, i));
    EvalCommand command = Command(server, absl::StrCat("out", i));
    command.limit = 1;
    if (i < 9) continue;
    said_.str("");
    RunWell(command);
    EXPECT_THAT(said_.str(),
                HasSubstr(absl::StrCat("vitrine: the model has no class for ", i + 1, " of the data set's ", i + 6,
                                       " labels: x10, x11, x12, x13, x14, x15, x16, x17, x18, x19",
                                       i == 9 ? "" : ", ...", "; their images are not sent (see --label-map)\n")));
  }
}

TEST_F(Evaluating, WaitsOnlyForTheRequestedModel) {
  v1::ModelVersion loading = Described(), failed = Described();
  loading.set_state(v1::LOADING);
  failed.set_model("f");
  failed.set_state(v1::FAILED);
  SmallServer::Methods methods = Methods(PlainAnswer, loading);
  *methods.models.add_versions() = failed;
  SmallServer server(methods);
  const auto refusal = [&](const ModelChoice& model) {
    EvalCommand command = Command(server, "out");
    command.model = model;
    command.patience = absl::ZeroDuration();
    return Run(command).status();
  };
  EXPECT_EQ(refusal({.name = "m"}), absl::UnavailableError("m is being loaded"));
  EXPECT_EQ(refusal({.name = ""}), absl::UnavailableError("the model is being loaded"));
  EXPECT_EQ(refusal({.name = "m", .version = 3}), absl::UnavailableError("m@3 is being loaded"));
  EXPECT_EQ(refusal({.name = "m", .version = 2}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal({.name = "f"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal({.name = "f", .version = 3}),
            absl::FailedPreconditionError("f@3 is not ready; see vitrine models"));
  EXPECT_EQ(said_.str(), "") << "without patience the run must not wait";
}

TEST_F(Evaluating, AFinishedRunReportsThisWithoutProgress) {
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.limit = 3;
  RunWell(command);
  EXPECT_THAT(said_.str(), AllOf(HasSubstr("3 of 3  100 %"), Not(HasSubstr("knows"))));
  said_.str("");
  RunWell(command);
  EXPECT_THAT(said_.str(),
              AllOf(EndsWith(absl::StrCat("vitrine: ", command.out, " has results of 3 images already; 0 are left\n")),
                    Not(HasSubstr("%"))));
}

}  // namespace
}  // namespace vitrine
