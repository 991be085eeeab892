// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_
#define VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine::testing {

// Parses a recipe from the text of its fields.
v1::Recipe RecipeOf(const std::string& text);

// Returns the task that MakeSequenceTask makes of RecipeOf(text). On an error, fails the test with its status.
std::unique_ptr<Task> TaskOf(const std::string& text, const std::string& data = "");

// Returns the error message of MakeSequenceTask for this recipe.
std::string RefusalOf(const std::string& text, const std::string& data = "");

// Trains the task's model for some steps of Adam at a constant rate, with gradients clipped at 5 and without dropout.
std::unique_ptr<Module> TrainFor(const Task& task, int64_t batch, int steps, double lr);

double MeasureOf(const Score& score, const std::string& name);

// Returns one member for each sample.
std::vector<Member> MembersOf(const std::vector<int64_t>& samples);

// Returns the loss of the whole batch, and the mean of its shares' losses weighted by their samples. If the two are
// equal, threads may compute the loss of a batch in shares.
std::pair<double, double> LossWholeAndShared(const Task& task, const Module& model, const TrainingBatch& batch,
                                             int shares);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_TRAINER_TASKS_TASK_TESTING_H_
