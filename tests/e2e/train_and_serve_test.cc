// SPDX-License-Identifier: Apache-2.0
// Tests the programs together: a vitrine-server under load loads each version that vitrine-train publishes.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/repository/stored_version.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

// Trains briefly and publishes the next version of "small". On an error, fails the test with the trainer's output.
void TrainAndPublish(const std::filesystem::path& folder, const std::string& seed) {
  const std::string command = absl::StrCat(
      VITRINE_BIN, "/vitrine-train run ", (folder / "small.textproto").string(),
      " --data imagefolder:", (folder / "data").string(), " --work ", (folder / ("work" + seed)).string(),
      " --set seed=", seed, " --threads 1 --epochs 1 --publish ", (folder / "repository").string(), " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char piece[4096];
  for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) output.append(piece, got);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
}

struct Ledger {
  std::atomic<bool> stop = false;
  std::atomic<int64_t> sent = 0, ok = 0;
  std::array<std::atomic<int64_t>, 3> by_version = {};
};

// Sends requests until ledger.stop is true. Every answer must be from a published version, and never from an older
// version than the previous answer.
void Send(const std::string& address, const std::string& image, const std::map<int64_t, std::string>& digests,
          Ledger& ledger) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub =
      v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  int64_t last = 0;
  while (!ledger.stop) {
    grpc::ClientContext context;
    v1::ClassifyResponse response;
    const grpc::Status status = stub->Classify(&context, ImageRequest("small", image), &response);
    ++ledger.sent;
    ASSERT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
    const v1::ServedBy& by = response.served_by();
    ASSERT_GE(by.version(), last) << "an old version answered after a newer one";
    ASSERT_TRUE(by.version() == 1 || by.version() == 2) << by.version();
    if (const auto known = digests.find(by.version()); known != digests.end()) {
      EXPECT_EQ(by.weights_sha256(), known->second);
    }
    last = by.version();
    ++ledger.by_version[last];
    ++ledger.ok;
  }
}

TEST(TrainAndServe, APublishedVersionServesWithoutALostRequest) {
  const ScratchFolder folder;
  const std::filesystem::path repository = folder.path() / "repository";
  WriteImageFolder(ColouredSquares(48, 1), folder.path() / "data" / "train");
  WriteImageFolder(ColouredSquares(9, 2), folder.path() / "data" / "test");
  std::ofstream(folder.path() / "small.textproto") << PrintRecipe(SmallRecipe());
  TrainAndPublish(folder.path(), "1");
  const auto first = ReadVersion(repository, {"small", 1});
  ASSERT_TRUE(first.ok()) << first.status();
  const std::map<int64_t, std::string> digests = {{1, first->weights_sha256}};

  ChildServer server(folder.path(), {"--repository", repository, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                     "--poll-interval", "50ms"});
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  Ledger ledger;
  std::vector<std::jthread> callers;
  const std::string image = *ColouredSquares(1, 3).encoded(0);
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { Send(address, image, digests, ledger); });
  TrainAndPublish(folder.path(), "2");
  EXPECT_TRUE(Eventually([&] { return ledger.by_version[2] >= 100; })) << server.Output();
  ledger.stop = true;
  for (std::jthread& caller : callers) caller.join();
  EXPECT_GT(ledger.by_version[1], 0) << "nothing was asked while the trainer ran";
  EXPECT_EQ(ledger.ok, ledger.sent);
  const auto second = ReadVersion(repository, {"small", 2});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->weights_sha256, first->weights_sha256) << "the second run published the weights of the first";

  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_THAT(server.Output(),
              HasSubstr(absl::StrCat("stopped accepted=", ledger.sent.load(), " answered=", ledger.sent.load())));
}

}  // namespace
}  // namespace vitrine::testing
