// SPDX-License-Identifier: Apache-2.0
#include "server/process/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

namespace vitrine {
namespace {

TEST(ChildProcess, DoesNotInheritIgnoredSignals) {
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ}) {
    const sighandler_t before = signal(ignored, SIG_IGN);
    const auto child = ChildProcess::Start({"/bin/sh", "-c", "kill -" + std::to_string(ignored) + " $$"});
    signal(ignored, before);
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ((*child)->Wait(), 128 + ignored);
  }
}

}  // namespace
}  // namespace vitrine
