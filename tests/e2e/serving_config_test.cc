// SPDX-License-Identifier: Apache-2.0
// Tests the batching and canary settings of the serving configuration on a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file/replace.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class ServingConfigTest : public ::testing::Test {
 protected:
  void Write(const std::string& serving) {
    const std::string path = folder_.Path("serving");
    ASSERT_TRUE(ReplaceFile(path, serving).ok());
  }
  ServerOptions Options() const {
    ServerOptions options = TestOptions(Root());
    options.registry.serving_config = folder_.Path("serving");
    options.admin.listen = absl::StrCat("unix://", folder_.Path("admin"));
    return options;
  }
  std::filesystem::path Root() const { return folder_.path() / "repository"; }

  // Sends `count` requests at once. Returns the batch size of each.
  static std::vector<int> BatchesOf(RunningServer& running, const std::string& model, int count) {
    std::vector<int> images(count, 0);
    std::vector<std::jthread> callers;
    for (int i = 0; i < count; ++i) {
      callers.emplace_back([&, i] {
        v1::ClassifyResponse response;
        const grpc::Status status = running.Classify(ImageRequest(model, NoiseJpeg(32, 24, i + 1)), &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        images[i] = response.batch().images();
      });
    }
    callers.clear();
    return images;
  }
  static v1::BatchLimits Shown(RunningServer& running, const std::string& model) {
    grpc::ClientContext context;
    v1::ListModelsResponse list;
    EXPECT_TRUE(running.registry().ListModels(&context, v1::ListModelsRequest(), &list).ok());
    for (const v1::ModelVersion& version : list.versions()) {
      if (version.model() == model) return version.batching();
    }
    ADD_FAILURE() << model << " is not listed";
    return {};
  }
  static v1::ServingStatus Serving(RunningServer& running) {
    const auto admin =
        v1::Admin::NewStub(grpc::CreateChannel(running.server().admin_address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::ServingStatus status;
    EXPECT_TRUE(admin->GetServing(&context, v1::GetServingRequest(), &status).ok());
    return status;
  }

  const ScratchFolder folder_;
};

// Batches wait until they are full, so each has its model's maximum size, in whatever order requests arrive.
TEST_F(ServingConfigTest, AModelsBatchesFollowTheFileWhileTheServerRuns) {
  PublishModel(Root(), "few", MixedConfig());
  PublishModel(Root(), "other", MixedConfig());
  Write("models { model: 'few' batching { max_batch_images: 3 max_wait_seconds: 5 } }");
  ServerOptions options = Options();
  options.batch.max_batch_tokens = 1234;
  options.executor.threads = 1;  // several executors would share a batch
  RunningServer running(options);
  EXPECT_THAT(BatchesOf(running, "few", 6), Each(3));
  EXPECT_THAT(BatchesOf(running, "other", 1), Each(1)) << "it waits for nobody";
  EXPECT_EQ(Shown(running, "few").max_batch_images(), 3);
  EXPECT_EQ(Shown(running, "few").max_wait_seconds(), 5);
  EXPECT_EQ(Shown(running, "few").max_batch_tokens(), 1234) << "the server's";
  EXPECT_EQ(Shown(running, "other").max_batch_images(), 64);
  EXPECT_EQ(Shown(running, "other").max_wait_seconds(), 0);

  Write("models { model: 'few' batching { max_batch_images: 2 max_wait_seconds: 5 } }");
  ASSERT_TRUE(Eventually([&] { return Shown(running, "few").max_batch_images() == 2; }));
  EXPECT_THAT(BatchesOf(running, "few", 6), Each(2));

  Write("models { model: 'few' batching { max_batch_images: 0 } }");
  ASSERT_TRUE(Eventually([&] { return !Serving(running).serving_config_fault().empty(); }));
  EXPECT_THAT(Serving(running).serving_config_fault(),
              HasSubstr("model \"few\": batching.max_batch_images is 0; it must be 1 to 65536"));
  EXPECT_THAT(BatchesOf(running, "few", 2), Each(2)) << "the file before holds on";
}

// Version 2 really is slower, since it is eight times as deep.
TEST_F(ServingConfigTest, ACanaryThatComputesMuchLongerIsPutAwayByItself) {
  v1::ModelConfig config = MixedConfig();
  config.mutable_eit()->set_width(96);
  config.mutable_eit()->set_depth(1);
  PublishModel(Root(), "m", config);
  config.mutable_eit()->set_depth(8);
  PublishModel(Root(), "m", config);
  Write(R"(models {
    model: "m"
    version_policy { latest: 2 }
    labels { label: "stable" version: 1 }
    traffic { version: 2 percent: 50 }
    canary_guard { min_requests: 20 }
  })");
  RunningServer running(Options());
  ASSERT_TRUE(Eventually([&] { return Serving(running).models(0).canaries_size() == 1; }));
  const v1::ClassifyRequest request = ImageRequest("m", NoiseJpeg(32, 24, 1));
  EXPECT_TRUE(Eventually([&] {
    v1::ClassifyResponse response;
    EXPECT_TRUE(running.Classify(request, &response).ok());
    return Serving(running).models(0).put_away_size() == 1;
  }));
  const v1::ModelServingStatus status = Serving(running).models(0);
  ASSERT_EQ(status.put_away_size(), 1);
  EXPECT_EQ(status.put_away(0).version(), 2);
  EXPECT_THAT(status.put_away(0).reason(),
              AllOf(HasSubstr("rolled back by the canary guard: it needs "), HasSubstr("the bound is 2.00")));
  EXPECT_EQ(running.Metric("vitrine_canary_rollbacks_total{model=\"m\",reason=\"slow\"}"), 1);
  v1::ClassifyResponse response;
  ASSERT_TRUE(running.Classify(request, &response).ok());
  EXPECT_EQ(response.served_by().version(), 1);
}

}  // namespace
}  // namespace vitrine::testing
