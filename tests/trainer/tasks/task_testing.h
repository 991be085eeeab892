// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_
#define VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine::testing {

// A recipe from the text of its fields.
v1::Recipe RecipeOf(const std::string& text);

// Returns MakeSequenceTask of RecipeOf; fails the test with its status on an error.
std::unique_ptr<Task> TaskOf(const std::string& text, const std::string& data = "");

// Returns the error message with which MakeSequenceTask rejects the recipe.
std::string RefusalOf(const std::string& text, const std::string& data = "");

// Trains the task's model for some steps of Adam at a constant rate, with gradients clipped at 5 and without dropout.
std::unique_ptr<Module> TrainFor(const Task& task, int64_t batch, int steps, double lr);

double MeasureOf(const Score& score, const std::string& name);

// Members of these samples.
std::vector<Member> MembersOf(const std::vector<int64_t>& samples);

// The loss of the whole batch, and the mean of its shares' losses weighed by their samples: equal for a loss that
// threads can share.
std::pair<double, double> LossWholeAndShared(const Task& task, const Module& model, const TrainingBatch& batch,
                                             int shares);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_
