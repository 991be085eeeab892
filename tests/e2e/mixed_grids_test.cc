// SPDX-License-Identifier: Apache-2.0
// Sends many images of many sizes at once. Each answer must equal the answer for the image alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/attention_maps.h"
#include "models/attention_request.h"
#include "models/engine/logits.h"
#include "models/features.h"
#include "server/registry/golden_input.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

constexpr int kImages = 400;
constexpr int kCallers = 24;
constexpr struct {
  int width, height;
} kSizes[] = {{16, 16}, {24, 16}, {16, 32}, {32, 32}, {40, 24}, {20, 60}, {64, 36}, {8, 8}};

// An image, and the logits that its model computes for it alone.
struct Sent {
  std::string image;
  std::vector<float> alone;
  std::vector<float> map, feature;
};

Sent ComputeAlone(const ModelDescription& model, const Backend& backend, std::string image) {
  const FloatArray input = DecodeGoldenInput(image, model.config().preprocessing()).value();
  const Grid grid = model.GridFor(static_cast<int>(input.shape[1]), static_cast<int>(input.shape[2])).value();
  v1::AttentionRequest map;
  map.set_kind(v1::CLASS_TOKEN_ROW);
  map.set_encoding(v1::FLOAT32);
  map = ResolveAttention(map, model.attention(), grid).value();
  v1::FeatureRequest feature;
  feature.set_kind(v1::MEAN_TOKEN);
  feature = ResolveFeature(feature, model.features()).value();
  AttentionTap tap;
  RequestAttention(map, model.attention(), 0, tap);
  TokenTap tokens;
  tokens.Request(TokenTap::kFinal);
  const engine::ImagePlanes view = ImageOf(input);
  engine::Workspace workspace;
  Sent sent{std::move(image), std::vector<float>(model.config().classes()), {}, {}};
  EXPECT_TRUE(backend.Run({&view, 1}, workspace, sent.alone.data(), &tap, &tokens).ok());
  sent.map = CollectAttention(map, model.attention(), tap, 0, grid).front().values;
  sent.feature = CollectFeature(feature, tokens, 0).values;
  return sent;
}

std::vector<Sent> MakeImages(const WeightedModel& model) {
  const std::unique_ptr<const Backend> backend = PortableBackend(model);
  std::vector<Sent> sent;
  for (int i = 0; i < kImages; ++i) {
    const auto [width, height] = kSizes[i % std::size(kSizes)];
    sent.push_back(ComputeAlone(model.description, *backend, NoiseJpeg(width, height, i + 1)));
  }
  return sent;
}

float Largest(const std::vector<float>& values) {
  float largest = 1;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

void ExpectFloats(const std::string& bytes, const std::vector<float>& alone) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  EXPECT_THAT(values, ::testing::Pointwise(::testing::FloatNear(1e-5f * Largest(alone)), alone));
}

void ExpectAnswer(const Sent& sent, const v1::ClassifyResponse& response) {
  ASSERT_EQ(response.predictions_size(), static_cast<int>(sent.alone.size()));
  std::set<int> classes;
  for (int k = 0; k < response.predictions_size(); ++k) {
    const v1::Prediction& prediction = response.predictions(k);
    if (k > 0) {
      EXPECT_GE(response.predictions(k - 1).logit(), prediction.logit()) << "predictions are out of order";
    }
    EXPECT_NEAR(prediction.logit(), sent.alone[prediction.index()], 1e-5f * Largest(sent.alone))
        << "class " << prediction.index() << " of a batch of " << response.batch().images();
    EXPECT_EQ(prediction.label(), "class-" + std::to_string(prediction.index()));
    classes.insert(prediction.index());
  }
  EXPECT_EQ(classes.size(), sent.alone.size()) << "a class appears twice";
  ASSERT_EQ(response.attention_size(), 1);
  ExpectFloats(response.attention(0).values(), sent.map);
  ASSERT_EQ(response.features_size(), 1);
  ExpectFloats(response.features(0).values(), sent.feature);
}

TEST(MixedGrids, ConcurrentImagesGetTheSameAnswersAsAlone) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  const std::vector<Sent> sent = MakeImages(HashedModel(MixedConfig()));
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 2;
  options.batch.max_batch_tokens = 512;
  options.batch.max_wait = absl::Milliseconds(5);
  RunningServer running(options);

  std::atomic<int> next = 0;
  std::mutex mutex;
  std::set<std::pair<int, int>> grids;
  int most_grids_in_a_batch = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      for (int i = next++; i < kImages; i = next++) {
        v1::ClassifyRequest request = ImageRequest("mixed", sent[i].image);
        request.set_top_k(7);
        v1::AttentionRequest& map = *request.add_attention();
        map.set_kind(v1::CLASS_TOKEN_ROW);
        map.set_encoding(v1::FLOAT32);
        request.add_features()->set_kind(v1::MEAN_TOKEN);
        request.set_request_id("image " + std::to_string(i));
        v1::ClassifyResponse response;
        const grpc::Status status = running.Classify(request, &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(response.request_id(), request.request_id()) << "an answer reached the wrong caller";
        ExpectAnswer(sent[i], response);
        const std::lock_guard lock(mutex);
        grids.insert({response.grid().rows(), response.grid().columns()});
        most_grids_in_a_batch = std::max(most_grids_in_a_batch, response.batch().grids());
      }
    });
  }
  for (std::jthread& caller : callers) caller.join();
  EXPECT_GE(grids.size(), 6u);
  EXPECT_GE(most_grids_in_a_batch, 4) << "no batch mixed grids: the test proved nothing";
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, kImages);
  EXPECT_EQ(counts.answered, kImages);
}

}  // namespace
}  // namespace vitrine::testing
