// SPDX-License-Identifier: Apache-2.0
#include "server/registry/remote_repository.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/scratch_folder.h"
#include "tests/server/logged.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEnded[] = "the refresh of the repository ended";

// Runs a child that only writes its process id to a file.
class RemoteRepositoryTest : public ::testing::Test {
 protected:
  RemoteRepositoryTest() {
    folder_.Write("pull", "#!/bin/sh\necho $$ >> " + folder_.Path("pids") + "\nexec sleep 600\n");
    std::filesystem::permissions(folder_.Path("pull"), std::filesystem::perms::owner_all);
    remote_.emplace("s3://models", RemoteRepositoryOptions{.cache = folder_.Path("cache")}, folder_.Path("pull"));
  }
  // Returns the process ids of the children so far.
  std::vector<pid_t> Pids() const {
    std::ifstream file(folder_.Path("pids"));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

  const ScratchFolder folder_;
  std::optional<RemoteRepository> remote_;
};

TEST_F(RemoteRepositoryTest, AnEndedChildIsLoggedAndRestarted) {
  const std::string log = Logged("info", "text", [&] {
    ASSERT_TRUE(Eventually([&] { return Pids().size() == 1; }));
    kill(Pids().front(), SIGKILL);
    EXPECT_TRUE(Eventually([&] { return Pids().size() == 2; }));
  });
  EXPECT_THAT(log, HasSubstr(kEnded));
}

// A service manager, or Ctrl-C, may signal all processes at once, so the child may end shortly before the server.
TEST_F(RemoteRepositoryTest, AChildEndJustBeforeTheServersEndIsNoError) {
  const std::string log = Logged("info", "text", [&] {
    ASSERT_TRUE(Eventually([&] { return Pids().size() == 1; }));
    kill(Pids().front(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    remote_->Stop();
    remote_.reset();
  });
  EXPECT_THAT(log, Not(HasSubstr(kEnded)));
  EXPECT_EQ(Pids().size(), 1u);
}

// The lines of the child about pulled and removed versions report changes. Every other line reports a fault, even if
// its text is unknown.
TEST(RemoteRepositoryLog, ErrorsAreDistinguishedFromChanges) {
  const ScratchFolder folder;
  folder.Write("pull",
               "#!/bin/sh\necho 'pulled m/1 (0.2 MB)'\necho 'vitrine-repo: m/2: too large (--max-bytes)'\n"
               "echo 'removed m/0'\necho 'a line without prefix'\nexec sleep 600\n");
  std::filesystem::permissions(folder.Path("pull"), std::filesystem::perms::owner_all);
  const std::string log = Logged("info", "text", [&] {
    const RemoteRepository remote("s3://models", {.cache = folder.Path("cache")}, folder.Path("pull"));
    EXPECT_TRUE(Eventually([] {
      const std::vector<LogLine> lines = History().Lines();
      return !lines.empty() && lines.front().text.find("a line without prefix") != std::string::npos;
    }));
  });
  EXPECT_THAT(log, HasSubstr("repository refreshed change=\"pulled m/1 (0.2 MB)\""));
  EXPECT_THAT(log, HasSubstr("repository refreshed change=\"removed m/0\""));
  EXPECT_THAT(log, HasSubstr("repository not refreshed fault=\"m/2: too large (--repository-cache-bytes)\""));
  EXPECT_THAT(log, HasSubstr("repository not refreshed fault=\"a line without prefix\""));
}

}  // namespace
}  // namespace vitrine
