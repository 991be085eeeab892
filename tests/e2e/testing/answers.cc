// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "models/attention_request.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

bool Finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

double Sum(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void CheckPredictions(const v1::ClassifyResponse& answer, int classes) {
  ASSERT_EQ(answer.predictions_size(), std::min(5, classes));
  double probability = 0;
  for (int i = 0; i < answer.predictions_size(); ++i) {
    const v1::Prediction& prediction = answer.predictions(i);
    EXPECT_FALSE(prediction.label().empty());
    EXPECT_TRUE(std::isfinite(prediction.logit()));
    EXPECT_LE(prediction.logit(), answer.predictions(std::max(0, i - 1)).logit());
    probability += prediction.probability();
  }
  EXPECT_GT(probability, 0);
  EXPECT_LE(probability, 1 + 1e-5);
}

// Rows of a softmax sum to 1. A map on the grid sums to less, because it omits the class token.
void CheckMap(const v1::AttentionMap& map, const v1::ClassifyResponse& answer) {
  SCOPED_TRACE(v1::AttentionKind_Name(map.kind()));
  const std::vector<float> values = Floats(map.values());
  ASSERT_EQ(values.size(), static_cast<size_t>(map.rows()) * map.columns());
  EXPECT_TRUE(Finite(values));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_LT(*low, *high) << "every value is the same";
  switch (FormOf(map.kind())) {
    case AttentionForm::kGrid:
      EXPECT_EQ(map.rows(), answer.grid().rows());
      EXPECT_EQ(map.columns(), answer.grid().columns());
      EXPECT_GT(map.covers().width(), 0);
      if (!map.diverging()) {
        EXPECT_GE(*low, 0);
        EXPECT_LE(Sum(values), 1 + 1e-4);
        EXPECT_GT(Sum(values), 0);
      }
      break;
    case AttentionForm::kTokens:
    case AttentionForm::kChannels:
      EXPECT_EQ(map.rows(), map.columns());
      EXPECT_FALSE(map.has_covers());
      if (map.kind() != v1::SCORES && !map.diverging()) {
        EXPECT_NEAR(Sum(values), map.rows(), 1e-3 * map.rows());
      }
      break;
    case AttentionForm::kDistance: {
      const double diagonal = std::hypot(answer.grid().input_height(), answer.grid().input_width());
      EXPECT_GT(*low, 0);
      EXPECT_LT(*high, diagonal);
    }
  }
}

v1::ClassifyResponse Ask(v1::Classifier::Stub& classifier, const v1::ClassifyRequest& request) {
  grpc::ClientContext context;
  v1::ClassifyResponse answer;
  const grpc::Status status = classifier.Classify(&context, request, &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return answer;
}

}  // namespace

void CheckEverythingOffered(v1::Classifier::Stub& classifier, v1::Registry::Stub& registry, const std::string& model,
                            const std::string& image) {
  grpc::ClientContext context;
  v1::GetModelRequest which;
  which.set_model(model);
  v1::ModelVersion version;
  const grpc::Status status = registry.GetModel(&context, which, &version);
  ASSERT_TRUE(status.ok()) << status.error_message();

  v1::ClassifyRequest request = ImageRequest(model, image);
  request.set_max_attention_bytes(int64_t{16} << 20);
  size_t maps = 0;
  for (const v1::AttentionOffer& offer : version.attention()) {
    v1::AttentionRequest& requested = *request.add_attention();
    requested.set_kind(offer.kind());
    requested.set_encoding(v1::FLOAT32);
    ++maps;
    if (offer.kind() == v1::ROLLOUT || offer.kind() == v1::DISTANCE) continue;
    requested.add_layers(0);
    requested.add_heads(offer.heads() - 1);
  }
  for (const int kind : version.feature_kinds()) {
    request.add_features()->set_kind(static_cast<v1::FeatureKind>(kind));
  }
  const v1::ClassifyResponse answer = Ask(classifier, request);
  CheckPredictions(answer, version.config().classes());
  ASSERT_EQ(answer.attention_size(), static_cast<int>(maps));
  for (const v1::AttentionMap& map : answer.attention()) CheckMap(map, answer);
  ASSERT_EQ(answer.features_size(), version.feature_kinds_size());
  for (const v1::Feature& feature : answer.features()) {
    const std::vector<float> values = Floats(feature.values());
    EXPECT_EQ(feature.width(), version.feature_width());
    EXPECT_EQ(values.size(), static_cast<size_t>(feature.rows()) * feature.columns() * feature.width());
    EXPECT_TRUE(Finite(values));
  }
}

}  // namespace vitrine::testing
