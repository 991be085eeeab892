// SPDX-License-Identifier: Apache-2.0
// Tests versions with valid files but wrong models, and many version swaps in a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "models/repository/stored_version.h"
#include "server/serve/execution/image_input.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

// Returns a draft of "mixed" that Publish accepts.
Draft GoodDraft() {
  const ScratchFolder folder;
  const VersionId id = PublishModel(folder.path(), "mixed", MixedConfig());
  const absl::StatusOr<StoredVersion> stored = ReadVersion(folder.path(), id);
  EXPECT_TRUE(stored.ok()) << stored.status();
  Draft draft;
  draft.manifest = stored->manifest;
  draft.manifest.clear_files();
  draft.weights = stored->weights;
  draft.golden = stored->golden;
  draft.labels = stored->labels;
  return draft;
}

struct Wrong {
  std::string name;
  std::function<void(Draft&)> spoil;
  std::string reason;
};

std::vector<Wrong> Wrongs() {
  return {
      {"MissingTensor", [](Draft& draft) { draft.weights.tensors.erase(std::prev(draft.weights.tensors.end())); }, ""},
      {"ExtraTensor",
       [](Draft& draft) {
         draft.weights.tensors["extra"] = StoredOf(FloatArray{.shape = {2}, .values = {0, 0}});
       },
       "extra"},
      {"WrongShape",
       [](Draft& draft) {
         draft.weights.tensors.begin()->second =
             StoredOf(FloatArray{.shape = {1, 2, 3}, .values = std::vector<float>(6)});
       },
       ""},
      {"GoldenOfOtherWeights",
       [](Draft& draft) {
         FloatArray logits = FloatsOf(draft.golden.tensors["logits.0"]);
         std::fill(logits.values.begin(), logits.values.end(), 3.25F);
         draft.golden.tensors["logits.0"] = StoredOf(logits);
       },
       "golden"},
      {"NoGoldenPicture",
       [](Draft& draft) {
         draft.golden.tensors.erase("picture.0");
         draft.golden.tensors.erase("logits.0");
       },
       "golden"},
      {"NoToleranceForTheCpu", [](Draft& draft) { draft.manifest.mutable_golden_tolerances(0)->set_device("cuda"); },
       "cpu"},
  };
}

v1::ModelVersion Version(RunningServer& running, int64_t version) {
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_model("mixed");
  request.set_version(version);
  v1::ModelVersion answer;
  running.registry().GetModel(&context, request, &answer);
  return answer;
}

TEST(Checkpoints, AWrongVersionIsRefusedBeforeTheSwap) {
  for (const Wrong& wrong : Wrongs()) {
    SCOPED_TRACE(wrong.name);
    const ScratchFolder folder;
    PublishModel(folder.path(), "mixed", MixedConfig());
    RunningServer running(folder.path());
    Draft draft = GoodDraft();
    wrong.spoil(draft);
    const absl::StatusOr<VersionId> published = Publish(folder.path(), "mixed", draft);
    if (!published.ok()) continue;  // it is also correct that the publisher rejects the version
    ASSERT_TRUE(Eventually([&] { return Version(running, 2).state() == v1::FAILED; }));
    EXPECT_THAT(Version(running, 2).reason(), HasSubstr(wrong.reason));
    v1::ClassifyResponse response;
    ASSERT_TRUE(running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
    EXPECT_EQ(response.served_by().version(), 1);
  }
}

}  // namespace
}  // namespace vitrine::testing
