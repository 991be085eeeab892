// SPDX-License-Identifier: Apache-2.0
// Tests that vitrine-train, killed at random moments and resumed, gives the result of an uninterrupted run.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/files/safetensors.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"
#include "trainer/sampler.h"
#include "trainer/watch/history.h"

namespace vitrine {
namespace {

constexpr int kKills = 10;

class KilledTraining : public ::testing::Test {
 protected:
  KilledTraining() {
    WriteImageFolder(ColouredSquares(48, 1), folder_.path() / "data" / "train");
    WriteImageFolder(ColouredSquares(9, 2), folder_.path() / "data" / "test");
    v1::Recipe recipe = SmallRecipe();
    recipe.set_epochs(40);
    recipe.set_evaluate_every(3);
    recipe.set_ema_decay(0.9);
    recipe.mutable_mixing()->set_mixup_alpha(0.4f);
    std::ofstream(folder_.path() / "small.textproto") << PrintRecipe(recipe);
  }

  // Starts the program and returns without waiting for it.
  pid_t Start(const std::string& work) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string base = folder_.path();
      const std::string log = base + "/log";
      if (freopen(log.c_str(), "a", stderr) == nullptr) _exit(126);
      execl(VITRINE_BIN "/vitrine-train", "vitrine-train", "run", (base + "/small.textproto").c_str(), "--data",
            ("imagefolder:" + base + "/data").c_str(), "--work", (base + "/" + work).c_str(), "--threads", "2",
            "--save-every", "5", "--resume", nullptr);
      _exit(127);
    }
    return child;
  }

  // Returns true if the program ended in time; otherwise kills it.
  static bool EndsWithin(pid_t child, int milliseconds) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    pollfd wait = {.fd = descriptor, .events = POLLIN, .revents = 0};
    const bool ended = poll(&wait, 1, milliseconds) == 1;
    if (!ended) kill(child, SIGKILL);
    close(descriptor);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(!ended || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
    return ended;
  }

  Safetensors StateOf(const std::string& work) {
    absl::StatusOr<Safetensors> content = ParseSafetensors(ReadFile(folder_.path() / work / "state.safetensors"));
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? *std::move(content) : Safetensors();
  }

  ScratchFolder folder_;
};

TEST_F(KilledTraining, LosesNothingAfterTenRandomKills) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(EndsWithin(Start("whole"), 60'000));
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);

  // Each kill comes at a random moment within the first two thirds of a whole run. So some runs are killed at their
  // start, and others after some steps.
  CounterRandom random(static_cast<uint64_t>(getpid()), 0, 0);
  int kills = 0, ends = 0;
  int64_t most = whole.count();  // ms; reduced if the program is now faster than in its first run
  while (kills < kKills && ends < 20) {
    const int at = static_cast<int>(random.Below(most * 2 / 3)) + 1;
    if (EndsWithin(Start("parts"), at)) {
      ++ends;
      most = std::max<int64_t>(at, 2);
      std::filesystem::remove_all(folder_.path() / "parts");
    } else {
      ++kills;
    }
  }
  ASSERT_EQ(kills, kKills);
  ASSERT_TRUE(EndsWithin(Start("parts"), 60'000));

  const Safetensors uninterrupted = StateOf("whole"), resumed = StateOf("parts");
  ASSERT_EQ(uninterrupted.tensors.size(), resumed.tensors.size());
  ASSERT_GT(uninterrupted.tensors.size(), 0u);
  for (const auto& [name, tensor] : uninterrupted.tensors) {
    EXPECT_TRUE(at::equal(TensorOf(tensor), TensorOf(resumed.tensors.at(name)))) << name;
  }
  for (const char* key : {"step", "samples", "loss_sum", "correct", "best", "best_step"}) {
    EXPECT_EQ(uninterrupted.metadata.at(key), resumed.metadata.at(key)) << key;
  }
  const auto steps = ReadSteps(folder_.path() / "whole"), resumed_steps = ReadSteps(folder_.path() / "parts");
  ASSERT_TRUE(steps.ok() && resumed_steps.ok()) << resumed_steps.status();
  ASSERT_EQ(steps->rows.size(), resumed_steps->rows.size());
  for (size_t i = 0; i < steps->rows.size(); ++i) EXPECT_EQ(steps->rows[i].loss, resumed_steps->rows[i].loss) << i;
  const auto history = ReadHistory(folder_.path() / "whole"), resumed_history = ReadHistory(folder_.path() / "parts");
  ASSERT_TRUE(history.ok() && resumed_history.ok()) << resumed_history.status();
  ASSERT_EQ(history->rows.size(), resumed_history->rows.size());
  for (size_t i = 0; i < history->rows.size(); ++i) {
    EXPECT_EQ(history->rows[i].scores, resumed_history->rows[i].scores) << i;
  }
}

}  // namespace
}  // namespace vitrine
