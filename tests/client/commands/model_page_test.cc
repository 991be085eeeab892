// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/model_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/commands/output/json_lines.h"

namespace vitrine {
namespace {

v1::ModelVersion Eit() {
  v1::ModelVersion eit;
  eit.set_model("eit-mini-cifar10");
  eit.set_version(3);
  eit.set_state(v1::READY);
  eit.set_parameters(3481098);
  eit.set_device_bytes(13924392);
  eit.set_weights_sha256("1f0c");
  eit.mutable_config()->set_classes(2);
  eit.mutable_config()->mutable_preprocessing()->set_channels(3);
  eit.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_height(32);
  eit.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_width(32);
  for (const char* label : {"cat", "dog\x1b[2J"}) eit.add_labels(label);
  v1::AttentionOffer& offer = *eit.add_attention();
  offer.set_kind(v1::CLASS_TOKEN_ROW);
  offer.set_layers(8);
  offer.set_heads(1);
  eit.add_attention()->set_kind(v1::ROLLOUT);
  eit.add_feature_kinds(v1::CLASS_TOKEN);
  eit.set_feature_width(250);
  v1::Provenance& from = *eit.mutable_provenance();
  v1::Metric& top1 = *from.add_metrics();
  top1.set_name("top1");
  top1.set_split("test 32x32");
  top1.set_value(0.7891);
  top1.set_images(10000);
  v1::Metric& loss = *from.add_metrics();
  loss.set_name("loss");
  loss.set_split("test 32x32");
  loss.set_value(0.625);
  loss.set_images(1);
  from.set_data("CIFAR-10");
  from.set_recipe("eit-mini, twelve words that do not fit on one line of a page so narrow");
  from.set_epochs(34.5);
  from.set_images_seen(1725000);
  from.set_seed(7);
  from.set_train_seconds(5025.7);
  from.set_started_from("eit-mini-cifar10/2");
  from.set_continues(true);
  from.set_created_unix_seconds(1763650000);
  return eit;
}

TEST(ModelPage, HasTheLimitsOfABatch) {
  v1::ModelVersion eit = Eit();
  eit.mutable_batching()->set_max_batch_tokens(1576);
  eit.mutable_batching()->set_max_batch_images(1);
  eit.mutable_batching()->set_max_batch_pixels(33554432);
  eit.mutable_batching()->set_max_wait_seconds(0);
  EXPECT_NE(ModelPage(eit, {.width = 200})
                .find("  batches     1,576 tokens, 1 image, 33,554,432 pixels at most; maximum wait: none\n"),
            std::string::npos);
  eit.mutable_batching()->set_max_wait_seconds(0.002);
  EXPECT_NE(ModelPage(eit, {.width = 200}).find("maximum wait: 2ms"), std::string::npos);
}

TEST(ModelPage, HasEveryFieldOfAVersion) {
  EXPECT_EQ(ModelPage(Eit(), {.width = 60}), &R"(
eit-mini-cifar10 version 3
  state       ready
  input       32x32 RGB
  parameters  3,481,098
  memory      13.9 MB on the device
  weights     1f0c
  licence     not stated
  classes     2
  labels      cat, dog?[2J

Available outputs
  class       Attention of the class token: 8 layers, 1 head
              each
  rollout     Attention rollout: over all layers and heads
  features    class of 250 channels

Measured on these weights
  top1        78.91 % on test 32x32 of 10,000 images
  loss        0.625 on test 32x32 of 1 image

Provenance
  data        CIFAR-10
  recipe      eit-mini, twelve words that do not fit on one
              line of a page so narrow
  training    34.5 epochs, 1,725,000 images, seed 7
  took        1h23m45s
  continues   eit-mini-cifar10/2
  published   2025-11-20 14:46 UTC

Configuration
  preprocessing {
    channels: 3
    fixed {
      height: 32
      width: 32
    }
  }
  classes: 2
)"[1]);
}

TEST(ModelPage, AFailedVersionHasItsReason) {
  v1::ModelVersion version;
  version.set_model("m");
  version.set_version(1);
  version.set_state(v1::FAILED);
  version.set_reason("golden.safetensors is missing");
  EXPECT_EQ(ModelPage(version, {.width = 80}), &R"(
m version 1
  state       failed
  reason      golden.safetensors is missing
)"[1]);
}

TEST(ModelDetailLine, HasLabelsConfigurationAndProvenance) {
  const auto line = nlohmann::json::parse(ModelDetailLine(Eit()));
  EXPECT_EQ(line["labels"][0], "cat");
  EXPECT_EQ(line["config"]["preprocessing"]["fixed"]["height"], 32);
  EXPECT_EQ(line["provenance"]["started_from"], "eit-mini-cifar10/2");
  EXPECT_EQ(line["provenance"]["metrics"][0]["value"], 0.7891);
  EXPECT_EQ(line["device_bytes"], 13924392);
}

TEST(WithCommas, SeparatesGroupsOfThreeDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(2867392), "2,867,392");
}

}  // namespace
}  // namespace vitrine
