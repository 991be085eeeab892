// SPDX-License-Identifier: Apache-2.0
// New versions under load, and versions that must never serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "models/reference/model.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

// State and reason of a version, as the Registry service tells them.
v1::ModelVersion Version(RunningServer& running, const std::string& model, int64_t version) {
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_model(model);
  request.set_version(version);
  v1::ModelVersion answer;
  running.registry().GetModel(&context, request, &answer);
  return answer;
}

TEST(Swap, ANewVersionUnderLoadLosesNoRequestAndEveryAnswerIsOfTheVersionItClaims) {
  const ScratchFolder folder;
  constexpr int kVersions = 4;
  PublishModel(folder.path(), "mixed", MixedConfig(), 1);
  const std::string picture = NoiseJpeg(32, 24, 3);
  std::vector<std::vector<float>> expected = {{}};  // by version
  for (int version = 1; version <= kVersions; ++version) {
    expected.push_back(LogitsAlone(*PublishedModel(MixedConfig(), version), picture));
  }
  RunningServer running(folder.path());

  std::atomic<bool> stop = false;
  std::atomic<int64_t> newest_seen = 0;
  std::atomic<int> sent = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      while (!stop) {
        v1::ClassifyResponse response;
        const int64_t seen_before = newest_seen;
        const grpc::Status status = running.Classify(PictureRequest("mixed", picture), &response);
        ++sent;
        ASSERT_TRUE(status.ok()) << "a request was lost to the swap: " << status.error_message();
        const int64_t version = response.served_by().version();
        EXPECT_GE(version, seen_before) << "an old version served after a newer one";
        const v1::Prediction& best = response.predictions(0);
        EXPECT_NEAR(best.logit(), expected[version][best.index()], 1e-4) << "not the answer of version " << version;
        int64_t newest = newest_seen;
        while (newest < version && !newest_seen.compare_exchange_weak(newest, version)) {
        }
      }
    });
  }
  for (int version = 2; version <= kVersions; ++version) {
    PublishModel(folder.path(), "mixed", MixedConfig(), version);
    EXPECT_TRUE(Eventually([&] { return newest_seen == version; })) << "version " << version << " never served";
  }
  stop = true;
  for (std::jthread& caller : callers) caller.join();
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, sent.load());
  EXPECT_EQ(counts.answered, sent.load());
}

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path& version)> harm;
  std::string file;  // that the reason must name
};

void FlipByte(const std::filesystem::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-1, std::ios::end);
  const char last = static_cast<char>(stream.get());
  stream.seekp(-1, std::ios::end);
  stream.put(static_cast<char>(last ^ 1));
}

const std::vector<Damage>& Damages() {
  namespace fs = std::filesystem;
  static const std::vector<Damage> damages = {
      {"ABitOfTheWeightsFlipped", [](const fs::path& v) { FlipByte(v / "weights.safetensors"); },
       "weights.safetensors"},
      {"WeightsHalfCopied",
       [](const fs::path& v) {
         fs::resize_file(v / "weights.safetensors", fs::file_size(v / "weights.safetensors") / 2);
       },
       "weights.safetensors"},
      {"GoldenMissing", [](const fs::path& v) { fs::remove(v / "golden.safetensors"); }, "golden.safetensors"},
      {"LabelsOfAnother", [](const fs::path& v) { std::ofstream(v / "labels.txt") << "cat\ndog\n"; }, "labels.txt"},
      {"ManifestCut",
       [](const fs::path& v) {
         fs::resize_file(v / "manifest.textproto", fs::file_size(v / "manifest.textproto") / 2);
       },
       "manifest.textproto"},
  };
  return damages;
}

TEST(Swap, ADamagedVersionNeverServesAndTheReasonNamesTheFile) {
  for (const Damage& damage : Damages()) {
    SCOPED_TRACE(damage.name);
    const ScratchFolder folder, workshop;
    PublishModel(folder.path(), "mixed", MixedConfig(), 1);
    RunningServer running(folder.path());
    // Version 2 appears at once in its damaged form, as a copy by hand leaves it.
    PublishModel(workshop.path(), "mixed", MixedConfig(), 1);
    PublishModel(workshop.path(), "mixed", MixedConfig(), 2);
    damage.harm(workshop.path() / "mixed" / "2");
    std::filesystem::copy(workshop.path() / "mixed" / "2", folder.path() / "mixed" / ".2",
                          std::filesystem::copy_options::recursive);
    std::filesystem::rename(folder.path() / "mixed" / ".2", folder.path() / "mixed" / "2");

    ASSERT_TRUE(Eventually([&] { return Version(running, "mixed", 2).state() == v1::FAILED; }));
    EXPECT_THAT(Version(running, "mixed", 2).reason(), HasSubstr(damage.file));
    v1::ClassifyResponse response;
    v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(24, 24, 1));
    const grpc::Status served = running.Classify(request, &response);
    EXPECT_TRUE(served.ok()) << served.error_message();
    EXPECT_EQ(response.served_by().version(), 1) << "the old version serves on";
    request.set_version(2);
    EXPECT_EQ(running.Classify(request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_GE(running.Metric("vitrine_model_load_failures_total{model=\"mixed\"}"), 1);
  }
}

// A copy that is still under way has no manifest: the version does not exist yet.
TEST(Swap, AVersionWithoutAManifestDoesNotExist) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig(), 1);
  PublishModel(folder.path(), "mixed", MixedConfig(), 2);
  const std::filesystem::path manifest = folder.path() / "mixed" / "2" / "manifest.textproto";
  std::filesystem::rename(manifest, folder.path() / "kept");
  RunningServer running(folder.path());
  v1::ClassifyResponse response;
  const v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(24, 24, 1));
  ASSERT_TRUE(running.Classify(request, &response).ok());
  EXPECT_EQ(response.served_by().version(), 1);
  EXPECT_EQ(Version(running, "mixed", 2).state(), v1::MODEL_STATE_UNSPECIFIED);
  std::filesystem::rename(folder.path() / "kept", manifest);
  EXPECT_TRUE(
      Eventually([&] { return running.Classify(request, &response).ok() && response.served_by().version() == 2; }));
}

TEST(Swap, AVanishedRepositoryLeavesTheLastGoodVersionServing) {
  const ScratchFolder folder;
  const std::filesystem::path root = folder.path() / "repository";
  PublishModel(root, "mixed", MixedConfig(), 1);
  RunningServer running(root);
  std::filesystem::rename(root, folder.path() / "elsewhere");
  v1::ClassifyResponse response;
  const v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(24, 24, 1));
  const auto end = absl::Now() + absl::Milliseconds(300);  // six polls
  while (absl::Now() < end) ASSERT_TRUE(running.Classify(request, &response).ok());
  std::filesystem::rename(folder.path() / "elsewhere", root);
  PublishModel(root, "mixed", MixedConfig(), 2);
  EXPECT_TRUE(
      Eventually([&] { return running.Classify(request, &response).ok() && response.served_by().version() == 2; }));
}

}  // namespace
}  // namespace vitrine::testing
