// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/commands/embed_command.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

v1::ListModelsResponse TwoModels() {
  v1::ListModelsResponse list;
  v1::ModelVersion& eit = *list.add_versions();
  eit.set_model("eit-mini-cifar10");
  eit.set_version(3);
  eit.set_state(v1::READY);
  eit.set_parameters(3481098);
  eit.mutable_config()->set_classes(10);
  eit.mutable_config()->mutable_preprocessing()->set_channels(3);
  v1::NativeResolution& native = *eit.mutable_config()->mutable_preprocessing()->mutable_native();
  native.set_cell(4);
  native.set_min_tokens(36);
  native.set_max_tokens(144);
  v1::Metric& metric = *eit.mutable_provenance()->add_metrics();
  metric.set_name("top1");
  metric.set_split("test 32x32");
  metric.set_value(0.7012);
  eit.mutable_provenance()->set_licence("LicenseRef-of-a-long-name");
  for (const v1::AttentionKind kind : {v1::CLASS_TOKEN_ROW, v1::ROLLOUT}) {
    eit.add_attention_kinds(kind);
    v1::AttentionOffer& offer = *eit.add_attention();
    offer.set_kind(kind);
    offer.set_layers(8);
    offer.set_heads(10);
  }
  eit.add_feature_kinds(v1::CLASS_TOKEN);
  eit.add_feature_kinds(v1::PATCH_TOKENS);
  eit.set_feature_width(250);

  v1::ModelVersion& kv = *list.add_versions();
  kv.set_model("kv-pos-mnist");
  kv.set_version(1);
  kv.set_state(v1::FAILED);
  kv.set_reason("weights.safetensors has SHA-256 1f0c, manifest.textproto says 9ab2");
  kv.set_parameters(812);
  kv.mutable_config()->set_classes(10);
  kv.mutable_config()->mutable_preprocessing()->set_channels(1);
  kv.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_height(28);
  kv.mutable_config()->mutable_preprocessing()->mutable_fixed()->set_width(28);
  kv.add_attention_kinds(v1::SCORES);  // without layers, like an older server
  return list;
}

TEST(ModelsTable, AWidePage) {
  EXPECT_EQ(ModelsTable(TwoModels(), {.width = 180}), &R"(
model             version  state   input                        parameters  classes  accuracy           licence               features               attention
eit-mini-cifar10        3  ready   36 to 144 tokens of 4x4 RGB   3,481,098       10  70.1 % test 32x32  LicenseRef-of-a-lon…  class, patches of 250  class 8x10  rollout
kv-pos-mnist            1  failed  28x28 grey                          812       10                                                                  scores
    weights.safetensors has SHA-256 1f0c, manifest.textproto says 9ab2
)"[1]);
}

TEST(ModelsTable, EightyColumns) {
  EXPECT_EQ(ModelsTable(TwoModels(), {.width = 80}), &R"(
eit-mini-cifar10
    version 3  state ready  input 36 to 144 tokens of 4x4 RGB
    parameters 3,481,098  classes 10  accuracy 70.1 % test 32x32
    licence LicenseRef-of-a-lon…  features class, patches of 250
    attention class 8x10  rollout
kv-pos-mnist
    version 1  state failed  input 28x28 grey  parameters 812  classes 10
    attention scores
    weights.safetensors has SHA-256 1f0c, manifest.textproto says 9ab2
)"[1]);
}

TEST(ModelsTable, AVersionThatIsStillLoadingHasNoNumbers) {
  v1::ListModelsResponse list;
  list.add_versions()->set_model("m");
  list.mutable_versions(0)->set_version(1);
  list.mutable_versions(0)->set_state(v1::LOADING);
  EXPECT_THAT(ModelsTable(list, {}), testing::HasSubstr("\nm            1  loading\n"));
}

TEST(ModelShow, AVersionThatFailedHasItsReason) {
  SmallServer::Methods methods;
  v1::ModelVersion& failed = *methods.models.add_versions();
  failed.set_model("m");
  failed.set_version(1);
  failed.set_state(v1::FAILED);
  failed.set_reason("golden.safetensors is missing");
  const SmallServer server(methods);
  std::ostringstream out;
  EXPECT_EQ(RunModelShow({.address = server.address()}, {.name = "m", .version = 1}, Format::kTable, {}, out),
            absl::OkStatus());
  EXPECT_THAT(out.str(), testing::HasSubstr("golden.safetensors is missing"));
  EXPECT_EQ(ChooseFeatureKind(v1::FEATURE_KIND_UNSPECIFIED, failed).status().message(),
            "model \"m\" version 1 failed to load: golden.safetensors is missing");
}

}  // namespace
}  // namespace vitrine
