// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_REPLICAS_H_
#define VITRINE_TRAINER_REPLICAS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/task.h"

namespace vitrine {

struct StepOutcome {
  double loss = 0;  // mean loss over the batch, times the batch's weight
  int64_t correct = 0;
  int64_t predictions = 0;
};

// Computes a batch's gradients on several cores. Each thread computes a share of the samples with its own replica. A
// replica shares the model's weights but has its own gradients. Threads are synchronized once per batch instead of once
// per operator. For small models, this is faster and less sensitive to other programs on the machine.
//
// Gradients are summed in a fixed order, so the result does not depend on timing. Thread-compatible.
class Replicas {
 public:
  // Makes `count` replicas; `model` is the first replica. `task` and `model` must outlive the replicas, and `model`
  // must not move. A replica's parameter requires a gradient if the same parameter of `model` requires a gradient.
  static absl::StatusOr<std::unique_ptr<Replicas>> Make(const Task& task, Module& model, int count);

  // Clears the gradients of the model's parameters.
  void ClearGradients();
  // Adds `weight` times the gradient of the batch's mean loss to the model's gradients. Converts LibTorch's exceptions
  // to INTERNAL.
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
