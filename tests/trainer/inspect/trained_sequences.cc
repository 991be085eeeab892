// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/inspect/trained_sequences.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/trainer/tasks/task_testing.h"
#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/loop.h"

namespace vitrine::testing {

void TrainIn(const ScratchFolder& folder, const std::string& text, const std::string& data) {
  v1::Recipe recipe = RecipeOf("batch: 32 epochs: 1 optimizer { kind: ADAM lr: 1e-3 } schedule { kind: CONSTANT }");
  recipe.MergeFrom(RecipeOf(text));
  const auto task = MakeSequenceTask(recipe, data);
  ASSERT_TRUE(task.ok()) << task.status();
  TrainOptions options;
  options.work_dir = folder.path();
  const auto result = Train(recipe, **task, options);
  ASSERT_TRUE(result.ok()) << result.status();
}

SequenceRun RunOf(const std::string& text, const std::string& data) {
  const ScratchFolder folder;
  TrainIn(folder, text, data);
  auto run = SequenceRun::Open(folder.path(), data);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

std::string DigitsText(const std::string& attention) {
  return absl::StrCat("sequence { model: \"task-", attention,
                      "-d32-l2\" digits { task: REVERSE length: 6 train: 128 test: 8 } }");
}

std::string NumbersText(const std::string& attention) {
  return absl::StrCat("sequence { model: \"numbers-", attention,
                      "-d64-l4\" language { text: NUMBER_WORDS context: 8 samples: 128 } }");
}

std::string TranslationText() {
  return "epochs: 0.016 sequence { model: \"translation-kv-d64-l1\" translation { } model_overrides { pair { "
         "source_vocabulary: 64 target_vocabulary: 64 } } }";
}

}  // namespace vitrine::testing
