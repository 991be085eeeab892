// SPDX-License-Identifier: Apache-2.0
// Tests the description of a version in the Registry service, and the limits of the queue and the batches of a model.
#include "server/registry/version/version_status.h"

#include <gtest/gtest.h>

#include <memory>

#include "google/protobuf/util/message_differencer.h"
#include "server/registry/settings/model_limits.h"
#include "server/serve/scheduling/batching_policy.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

// Returns a version in which all numbers differ.
VersionStatus EverythingOf(v1::ModelState state) {
  auto loaded = std::make_shared<LoadedModel>();
  loaded->manifest = FromText<v1::Manifest>("parameters: 11 config { classes: 2 } provenance { recipe: 'r' }");
  loaded->weights_sha256 = "abc";
  loaded->device_bytes = 44;
  loaded->labels = {"cat", "dog"};
  loaded->attention.offers = {{v1::WEIGHTS, AttentionSource::kTokens, 12, 3},
                              {v1::CLASS_ATTENTION, AttentionSource::kClassQuery, 2, 6}};
  loaded->features = {.kinds = {v1::MEAN_TOKEN, v1::PATCH_TOKENS}, .width = 96};
  loaded->queue_limits->set_batch(
      {.max_batch_tokens = 21, .max_batch_images = 22, .max_batch_pixels = 23, .max_wait = absl::Milliseconds(500)});
  VersionStatus status;
  status.id = {"m", 7};
  status.state = state;
  status.reason = "why";
  status.labels = {"best", "stable"};
  status.traffic_percent = 12.5;
  status.model = loaded;
  return status;
}

constexpr char kShown[] = R"pb(
  model: "m"
  version: 7
  state: READY
  reason: "why"
  version_labels: [ "best", "stable" ]
  traffic_percent: 12.5
  config { classes: 2 }
  provenance { recipe: "r" }
  weights_sha256: "abc"
  parameters: 11
  device_bytes: 44
  attention_kinds: [ WEIGHTS, CLASS_ATTENTION ]
  layers: 12
  heads: 6
  attention { kind: WEIGHTS layers: 12 heads: 3 }
  attention { kind: CLASS_ATTENTION layers: 2 heads: 6 }
  feature_kinds: [ MEAN_TOKEN, PATCH_TOKENS ]
  feature_width: 96
  batching { max_batch_tokens: 21 max_batch_images: 22 max_batch_pixels: 23 max_wait_seconds: 0.5 }
)pb";

v1::ModelVersion WithLabels(const VersionStatus& status) {
  v1::ModelVersion read;
  EXPECT_TRUE(read.ParseFromString(SerializeWithLabels(Describe(status), status)));
  return read;
}

void ExpectShown(const v1::ModelVersion& shown, const v1::ModelVersion& expected) {
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(shown, expected)) << shown.DebugString();
}

TEST(DescribeVersion, DescribesAReadyVersionCompletely) {
  auto expected = FromText<v1::ModelVersion>(kShown);
  ExpectShown(Describe(EverythingOf(v1::READY)), expected);
  expected.add_labels("cat");
  expected.add_labels("dog");
  ExpectShown(WithLabels(EverythingOf(v1::READY)), expected);
}

TEST(DescribeVersion, OnlyAReadyVersionHasBatchLimits) {
  auto expected = FromText<v1::ModelVersion>(kShown);
  expected.set_state(v1::RETIRING);
  expected.clear_batching();
  ExpectShown(Describe(EverythingOf(v1::RETIRING)), expected);
}

TEST(DescribeVersion, DescribesTheStateOfAVersionThatIsNotLoaded) {
  VersionStatus status = EverythingOf(v1::FAILED);
  status.model = nullptr;
  ExpectShown(WithLabels(status), FromText<v1::ModelVersion>(R"pb(
                model: "m"
                version: 7
                state: FAILED
                reason: "why"
                version_labels: [ "best", "stable" ]
                traffic_percent: 12.5)pb"));
}

TEST(ModelLimits, LimitsOfTheModelOverrideTheServers) {
  const BatchLimits server = {
      .max_batch_tokens = 1, .max_batch_images = 2, .max_batch_pixels = 3, .max_wait = absl::Seconds(4)};
  const auto over = [&](const std::string& own) { return ToProto(Over(server, FromText<v1::BatchLimits>(own))); };
  const auto expect = [&](const std::string& own, const std::string& all) {
    EXPECT_EQ(over(own).SerializeAsString(), FromText<v1::BatchLimits>(all).SerializeAsString()) << own;
  };
  expect("", "max_batch_tokens: 1 max_batch_images: 2 max_batch_pixels: 3 max_wait_seconds: 4");
  const std::string all = "max_batch_tokens: 5 max_batch_images: 6 max_batch_pixels: 7 max_wait_seconds: 0.25";
  expect(all, all);
}

TEST(ModelLimits, AreSharedByTheVersionsAndFollowTheSettings) {
  ModelLimitsTable table(BatchOptions{.max_batch_tokens = 1}.Limits());
  const std::shared_ptr<QueueLimits> limits = table.For("m");
  EXPECT_EQ(table.For("m"), limits);
  EXPECT_NE(table.For("n"), limits);
  EXPECT_EQ(limits->batch()->max_batch_tokens, 1) << "the server's limits apply from the first use";
  table.Set("m", FromText<v1::ModelServing>("limits { max_queued_requests: 8 max_queued_bytes: 9 } "
                                            "batching { max_batch_tokens: 10 }"));
  EXPECT_EQ(limits->max_requests, 8);
  EXPECT_EQ(limits->max_bytes, 9);
  EXPECT_EQ(limits->batch()->max_batch_tokens, 10);
  table.Set("m", {});
  EXPECT_EQ(limits->max_requests, QueueLimits::kNone);
  EXPECT_EQ(limits->max_bytes, QueueLimits::kNone);
  EXPECT_EQ(limits->batch()->max_batch_tokens, 1);
}

TEST(ModelLimits, DoNotExceedTheBatchesOfADevice) {
  const BatchLimits server = {
      .max_batch_tokens = 1000, .max_batch_images = 64, .max_batch_pixels = 3, .max_wait = absl::Seconds(4)};
  ModelLimitsTable table(server, DeviceBatch{.images = 16, .tokens = 500});
  const auto expect = [&](int64_t tokens, int images) {
    const BatchLimits limits = *table.For("m")->batch();
    EXPECT_EQ(limits.max_batch_tokens, tokens);
    EXPECT_EQ(limits.max_batch_images, images);
    EXPECT_EQ(limits.max_batch_pixels, 3);
  };
  expect(500, 16);
  table.Set("m", FromText<v1::ModelServing>("batching { max_batch_tokens: 501 max_batch_images: 15 }"));
  expect(500, 15);
}

}  // namespace
}  // namespace vitrine
