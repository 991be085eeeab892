// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_SMALL_RUN_H_
#define VITRINE_TESTS_TRAINER_SMALL_RUN_H_

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "common/status_macros.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/loop.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {

// Trains `recipe` on kTrainSquares in the folder. Replaces one thread, the default of the options, by two.
inline absl::StatusOr<TrainResult> RunIn(const ScratchFolder& folder, const v1::Recipe& recipe,
                                         TrainOptions options = {}) {
  options.work_dir = folder.path();
  if (options.threads == 1) options.threads = 2;
  ASSIGN_OR_RETURN(const std::unique_ptr<ImageTask> task, ImageTask::Make(recipe, kTrainSquares, &kTestSquares));
  return Train(recipe, *task, options);
}

inline void ExpectSameWeights(const Module& a, const Module& b) {
  const std::vector<NamedTensor> x = a.Parameters(), y = b.Parameters();
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(at::equal(x[i].tensor, y[i].tensor)) << x[i].name;
}

// Holds options that stop a training after `step` steps.
struct StopAfter {
  explicit StopAfter(int64_t step) {
    options.stop = &stop;
    options.after_step = [this, step](const RunPosition& position) { stop = position.step == step; };
  }
  std::atomic<bool> stop = false;
  TrainOptions options;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_SMALL_RUN_H_
