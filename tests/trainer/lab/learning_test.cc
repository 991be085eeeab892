// SPDX-License-Identifier: Apache-2.0
// Tests that the models learn: short trainings on the digit tasks with the trainer's optimizer.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/one_hot.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/trainer/lab/oracle.h"
#include "trainer/lab/data/sequences.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/optimise/optimizer.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

struct Digits {
  at::Tensor inputs;   // [B, n, 10] one-hot
  at::Tensor targets;  // [B n]
};

Digits Draw(DigitTask task, int batch, int length, uint64_t step) {
  at::Tensor digits = at::empty({batch, length}, at::kLong), targets = at::empty({batch, length}, at::kLong);
  CounterRandom random(/*seed=*/1, /*epoch=*/0, step);
  for (int b = 0; b < batch; ++b) {
    std::vector<int> sequence(length);
    for (int& digit : sequence) digit = static_cast<int>(random.Below(10));
    const std::vector<int> target = TargetOf(task, sequence);
    for (int t = 0; t < length; ++t) {
      digits.data_ptr<int64_t>()[b * length + t] = sequence[t];
      targets.data_ptr<int64_t>()[b * length + t] = target[t];
    }
  }
  return {at::one_hot(digits, 10).to(at::kFloat), targets.flatten()};
}

// Returns the accuracy per position after `steps` of Adam at 1e-3, with gradients clipped at 5, without dropout.
double Train(std::string_view row, DigitTask task, int length, int steps) {
  const auto model = *MakeSequenceModel(testing::SequenceConfigOf(row), /*seed=*/1);
  model->RequireGrad(true);
  v1::Optimizer settings;
  settings.set_kind(v1::Optimizer::ADAMW);
  Optimizer optimizer(settings, model->Parameters());
  for (int step = 0; step < steps; ++step) {
    const Digits digits = Draw(task, 64, length, step);
    const at::Tensor logits = model->Forward({digits.inputs, {}}, {});
    for (const NamedTensor& parameter : model->Parameters()) at::Tensor(parameter.tensor).mutable_grad().reset();
    at::cross_entropy_loss(logits.flatten(0, 1), digits.targets).backward();
    optimizer.ClipGradients(5);
    optimizer.Step(1e-3);
  }
  const Digits held_out = Draw(task, 200, length, 1'000'000);
  const at::Tensor answers = RunSequenceModel(*model, {held_out.inputs, {}})->flatten(0, 1).argmax(-1);
  return (answers == held_out.targets).to(at::kFloat).mean().item<double>();
}

// This task needs only an element's own digit.
TEST(SequenceLearning, SubtractsWithEveryAttention) {
  for (const std::string_view row : {"task-qkv-d32-l2", "task-kv-d32-l2", "task-kv-pos-d32-l2"}) {
    EXPECT_GT(Train(row, DigitTask::kSub, 12, 120), 0.99) << row;
  }
}

// In this task an element must find another one by its position.
TEST(SequenceLearning, Reverses) {
  EXPECT_GT(Train("task-qkv-d64-l2", DigitTask::kReverse, 8, 300), 0.95);
}

}  // namespace
}  // namespace vitrine
