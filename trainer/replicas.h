// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_REPLICAS_H_
#define VITRINE_TRAINER_REPLICAS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/task.h"

namespace vitrine {

struct StepOutcome {
  double loss = 0;  // mean over the batch, times its weight
  int64_t correct = 0;
  int64_t predictions = 0;
};

// The parameters of a task's model that training moves.
std::vector<NamedTensor> TrainedParameters(const Task& task, const Module& model);

// Computes a batch's gradients on several cores: each thread takes a share of the samples through a replica of the
// model that shares the weights' memory but has gradients of its own. One rendezvous per batch instead of one per
// operator, which is faster for small models and bears a machine that is busy with other work.
//
// The sum of the gradients is taken in a fixed order, so the result depends on the count of replicas and on nothing
// else. Thread-compatible.
class Replicas {
 public:
  // `model`, which must outlive the replicas and stay where it is, is the first of `count`. Gradients are required of
  // the parameters that the task trains from now on.
  static absl::StatusOr<std::unique_ptr<Replicas>> Make(const Task& task, Module& model, int count);

  // Forgets the gradients of the model's parameters.
  void ClearGradients();
  // Adds `weight` times the gradient of the batch's mean loss to the model's parameters. LibTorch's exceptions become
  // INTERNAL.
  absl::StatusOr<StepOutcome> AddGradients(const TrainingBatch& batch, const ForwardContext& context,
                                           double weight = 1);

 private:
  Replicas(const Task& task, Module& model) : task_(task), model_(model) {}
  Module& ReplicaAt(int i) const { return i == 0 ? model_ : *others_[i - 1]; }
  void AddUp(int count);

  const Task& task_;
  Module& model_;
  std::vector<std::unique_ptr<Module>> others_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_REPLICAS_H_
