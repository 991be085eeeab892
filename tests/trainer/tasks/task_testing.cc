// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/tasks/task_testing.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <span>

#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/optimise/optimizer.h"

namespace vitrine::testing {

v1::Recipe RecipeOf(const std::string& text) {
  v1::Recipe recipe;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &recipe)) << text;
  if (recipe.name().empty()) recipe.set_name("test");
  return recipe;
}

std::unique_ptr<Task> TaskOf(const std::string& text, const std::string& data) {
  auto task = MakeSequenceTask(RecipeOf(text), data);
  EXPECT_TRUE(task.ok()) << task.status();
  return task.ok() ? *std::move(task) : nullptr;
}

std::string RefusalOf(const std::string& text, const std::string& data) {
  const auto task = MakeSequenceTask(RecipeOf(text), data);
  EXPECT_FALSE(task.ok()) << text;
  return std::string(task.status().message());
}

std::unique_ptr<Module> TrainFor(const Task& task, int64_t batch, int steps, double lr) {
  at::set_num_threads(1);  // like the trainer; threads that wait for each other slow small models down
  auto model = *task.MakeModel();
  model->RequireGrad(true);
  v1::Optimizer settings;
  settings.set_kind(v1::Optimizer::ADAMW);  // equals Adam, since there is no decay
  Optimizer optimizer(settings, model->Parameters());
  const int64_t steps_per_epoch = task.samples() / batch;
  std::vector<Member> members;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t epoch = step / steps_per_epoch, index = step % steps_per_epoch;
    if (index == 0) members = task.EpochMembers(epoch);
    const auto samples = *task.MakeBatch(epoch, index, std::span(members).subspan(index * batch, batch));
    for (const NamedTensor& parameter : model->Parameters()) at::Tensor(parameter.tensor).mutable_grad().reset();
    ForwardContext context;
    context.training = true;
    task.Loss(*model, samples, context).loss.backward();
    optimizer.ClipGradients(5);
    optimizer.Step(lr);
  }
  model->RequireGrad(false);
  return model;
}

double MeasureOf(const Score& score, const std::string& name) {
  for (const Measure& measure : score.measures) {
    if (measure.name == name) return measure.value;
  }
  ADD_FAILURE() << "no measure " << name;
  return 0;
}

std::vector<Member> MembersOf(const std::vector<int64_t>& samples) {
  std::vector<Member> members;
  for (const int64_t sample : samples) members.push_back({.sample = sample});
  return members;
}

std::pair<double, double> LossWholeAndShared(const Task& task, const Module& model, const TrainingBatch& batch,
                                             int shares) {
  const at::NoGradGuard no_grad;
  double shared = 0;
  for (int part = 0; part < shares; ++part) {
    const TrainingBatch share = ShareOf(batch, part, shares);
    shared += task.Loss(model, share, {}).loss.item<double>() * static_cast<double>(share.samples) /
              static_cast<double>(batch.samples);
  }
  return {task.Loss(model, batch, {}).loss.item<double>(), shared};
}

}  // namespace vitrine::testing
