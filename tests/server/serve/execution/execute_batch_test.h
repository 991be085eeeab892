// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_TEST_H_
#define VITRINE_TESTS_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_TEST_H_

#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/attention_request.h"
#include "models/features.h"
#include "server/serve/execution/attention_encoding.h"
#include "server/serve/execution/execute_batch.h"
#include "tests/server/small_models.h"

namespace vitrine {

// Values of a tensor of 3 x 3 pixels and 2 channels in fp32, all zero.
inline constexpr char kZeroBytes[4 * 3 * 3 * 2] = {};
inline constexpr std::string_view kZeros(kZeroBytes, sizeof(kZeroBytes));

// Provides batches of a small model, which are computed in the calling thread.
class ExecuteBatchTest : public ::testing::Test {
 protected:
  // Makes a responder that copies the logits into the predictions, so that tests can compare them.
  ExecuteBatchTest() {
    responder_ = [this](const InferenceRequest& request, InferenceOutput output) {
      v1::ClassifyResponse response;
      for (const float logit : output.logits) response.add_predictions()->set_logit(logit);
      response.set_request_id(request.request.request_id());
      *response.mutable_timings() = output.timings;
      *response.mutable_batch() = output.batch;
      for (const auto& maps : output.attention) {
        for (const AttentionMap& map : maps) {
          v1::AttentionMap& out = *response.add_attention();
          out.set_rows(map.rows);
          out.set_columns(map.columns);
          out.set_values(EncodeFloat(map.values));
        }
      }
      for (const FeatureMap& feature : output.features)
        response.add_features()->set_values(EncodeFloat(feature.values));
      had_image_ = output.image != nullptr;
      return response;
    };
  }

  static Batch BatchOf(std::vector<InferenceRequest> requests, uint64_t id = 1) {
    Batch batch;
    batch.id = id;
    for (InferenceRequest& request : requests) {
      batch.requests.push_back(std::make_unique<InferenceRequest>(std::move(request)));
    }
    return batch;
  }

  void Execute(Batch batch) { ExecuteBatch(std::move(batch), {workspace_, responder_, SteadyClock()}); }
  void Execute(InferenceRequest request) {
    std::vector<InferenceRequest> one;
    one.push_back(std::move(request));
    Execute(BatchOf(std::move(one)));
  }
  // Returns one request for each element of `answers`. The images have 16 x 16 pixels and differ.
  std::vector<InferenceRequest> Images(std::vector<Answer>& answers,
                                       absl::Time arrival = InferenceRequest().arrival) const {
    std::vector<InferenceRequest> requests;
    for (Answer& answer : answers) {
      requests.push_back(ImageRequest(model_, NoisePng(16, 16, static_cast<int>(requests.size())), answer));
      requests.back().arrival = arrival;
    }
    return requests;
  }
  // Replaces the image by a tensor whose size is not the planned size. ComputePart treats this as an internal fault.
  static void MakeFaulty(InferenceRequest& request) {
    v1::RawTensor& tensor = *request.request.mutable_tensor();
    tensor.set_data_type(v1::RawTensor::DATA_FLOAT32);
    tensor.set_height(3);
    tensor.set_width(3);
    tensor.set_channels(2);
    tensor.set_normalized(true);
    request.input = kZeros;
  }

  std::vector<float> Logits(const Answer& answer) {
    EXPECT_TRUE(answer.result.ok()) << answer.result.status();
    std::vector<float> logits;
    if (answer.result.ok()) {
      for (const auto& prediction : answer.result->predictions()) logits.push_back(prediction.logit());
    }
    return logits;
  }

  // Requests every kind of map and every kind of feature that the model has.
  void AskForEverything(InferenceRequest& request) const {
    for (const AttentionAbility::Offer& offer : model_->attention.offers) {
      v1::AttentionRequest requested;
      requested.set_kind(offer.kind);
      request.attention.push_back(ResolveAttention(requested, model_->attention, request.grid).value());
    }
    for (const v1::FeatureKind kind : model_->features.kinds) {
      v1::FeatureRequest requested;
      requested.set_kind(kind);
      request.features.push_back(ResolveFeature(requested, model_->features).value());
    }
  }

  // Returns the values of `parts`, the maps or the features of an answer.
  template <typename Parts>
  static std::vector<std::vector<float>> Values(const Parts& parts) {
    std::vector<std::vector<float>> values;
    for (const auto& part : parts) {
      std::vector<float>& floats = values.emplace_back(part.values().size() / sizeof(float));
      std::memcpy(floats.data(), part.values().data(), part.values().size());
    }
    return values;
  }

  // Returns the metrics line that counts a stage of the model "small".
  static std::string StageCount(const char* stage, const char* outcome, int count) {
    return absl::StrCat("vitrine_stage_duration_seconds_count{model=\"small\",stage=\"", stage, "\",outcome=\"",
                        outcome, "\"} ", count, "\n");
  }

  engine::Workspace workspace_;
  Responder responder_;
  bool had_image_ = false;
  std::shared_ptr<LoadedModel> model_ = MakeLoaded("small", 3, SmallNativeConfig());
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_TEST_H_
