// SPDX-License-Identifier: Apache-2.0
#include "server/process/end_process.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/server/lifecycle/full_pipe.h"

namespace vitrine {
namespace {

using ::testing::ExitedWithCode;

TEST(EndProcess, PrintsTheReasonAndExitsWithTheCode) {
  EXPECT_EXIT(EndProcess(3, [] { (void)!write(STDERR_FILENO, "the reason", 10); }), ExitedWithCode(3), "the reason");
}

// Another thread blocks in the logger and holds its lock.
TEST(EndProcess, ABlockedLogDoesNotPreventTheEnd) {
  EXPECT_EXIT(
      {
        alarm(10);
        int pipes[2];
        if (pipe(pipes) != 0) _exit(98);
        dup2(pipes[1], STDOUT_FILENO);  // the default logger of a test writes to stdout
        dup2(pipes[1], STDERR_FILENO);
        std::thread([] {
          for (;;) spdlog::warn(std::string(4096, 'x'));
        }).detach();
        AwaitFullPipe(pipes[1]);
        EndProcess(3, [] { spdlog::critical("the reason"); });
      },
      ExitedWithCode(3), "");
}

}  // namespace
}  // namespace vitrine
