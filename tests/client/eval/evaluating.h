// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_EVAL_EVALUATING_H_
#define VITRINE_TESTS_CLIENT_EVAL_EVALUATING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/eval/metrics.h"
#include "client/eval/run/run.h"
#include "client/eval/summary.h"
#include "common/imaging/decode.h"
#include "common/imaging/encode/encode_png.h"
#include "tests/client/lib/small_server.h"
#include "tests/scratch_folder.h"

namespace vitrine {

// Constants and functions for evaluations of an image folder with a real gRPC server. The test defines the server's
// answers.

inline constexpr int kClasses = 10;
inline const std::string kDigest(64, 'd');

inline v1::ModelVersion Described(const std::string& digest = kDigest) {
  v1::ModelVersion version;
  version.set_model("m");
  version.set_version(3);
  version.set_state(v1::READY);
  version.set_weights_sha256(digest);
  for (int i = 0; i < kClasses; ++i) version.add_labels(absl::StrCat("class ", i));
  return version;
}

// Returns a grey image whose pixels encode its class and its number within the class.
inline std::string ImageFile(int label, int number) {
  Image image{.width = 4, .height = 4, .channels = 1, .pixels = {}};
  image.pixels.assign(16, static_cast<uint8_t>(20 * label));
  image.pixels[0] = static_cast<uint8_t>(number);
  return *EncodePng(image);
}

// Returns an answer with the right class, except for every seventh image of a class, which gets the next class. The
// probability falls with the image's number.
inline v1::ClassifyStreamResponse Answer(const v1::ClassifyRequest& request, const std::string& digest = kDigest) {
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
    // The probabilities sum to 1 if all classes are requested.
    const float best = 0.9F - 0.01F * static_cast<float>(number);
    guess.set_probability(i == 0 ? best : (1 - best) / (kClasses - 1));
  }
  response.mutable_served_by()->set_version(3);
  response.mutable_served_by()->set_weights_sha256(digest);
  response.mutable_served_by()->set_precision("fp32");
  response.mutable_served_by()->set_device("cpu");
  response.mutable_timings()->set_total(0.004F);
  return answer;
}

using Respond = std::function<v1::ClassifyStreamResponse(const v1::ClassifyRequest&)>;

inline SmallServer::Methods Methods(const Respond& respond, const v1::ModelVersion& model = Described()) {
  SmallServer::Methods methods;
  *methods.models.add_versions() = model;
  methods.stream = [respond](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) stream->Write(respond(request));
    return grpc::Status::OK;
  };
  return methods;
}

inline v1::ClassifyStreamResponse PlainAnswer(const v1::ClassifyRequest& request) {
  return Answer(request);
}

class Evaluating : public ::testing::Test {
 protected:
  Evaluating() {
    for (int label = 0; label < 5; ++label) {
      for (int i = 0; i < 14; ++i) {
        folder_.Write(absl::StrCat("data/Class ", label, "/", 10 + i, ".png"), ImageFile(label, i));
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
  // Runs the evaluation and expects that it ends without an error.
  Evaluation RunWell(const EvalCommand& command) {
    const auto result = Run(command);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_TRUE(result->stopped.ok()) << result->stopped;
    return result->evaluation;
  }
  std::string Csv(const std::string& out) const { return folder_.Read(out + "/predictions.csv"); }
  // Returns the part of the summary that must not depend on interruptions and retries.
  static std::string Scores(const Evaluation& evaluation) {
    nlohmann::ordered_json json = SummaryJson(evaluation, ComputeMetrics(evaluation));
    json.erase("run");
    return json.dump(1);
  }

  const ScratchFolder folder_;
  std::ostringstream said_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_EVAL_EVALUATING_H_
