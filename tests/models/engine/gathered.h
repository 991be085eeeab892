// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_GATHERED_H_
#define VITRINE_TESTS_MODELS_ENGINE_GATHERED_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "models/engine/cpu/team.h"

namespace vitrine::testing {

// A team of `members` threads: the calling thread, which leads the team, and threads that have joined it.
class Gathered {
 public:
  explicit Gathered(int members, std::atomic<int64_t>* recalls = nullptr) : team_(recalls) {
    for (int i = 1; i < members; ++i) threads_.emplace_back([this] { EXPECT_TRUE(team_.Join()); });
    EXPECT_EQ(team_.Gather(members - 1, absl::Minutes(1)), members);
  }
  ~Gathered() {
    team_.Dismiss();
    for (std::thread& thread : threads_) thread.join();
  }

  engine::Team& team() { return team_; }

 private:
  engine::Team team_;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_GATHERED_H_
