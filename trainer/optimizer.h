// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMIZER_H_
#define VITRINE_TRAINER_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "reference/module.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// AdamW (decoupled decay, Loshchilov and Hutter 2019), Adam (Kingma and Ba 2015) or SGD with momentum over the
// parameters of a model, through LibTorch's fused kernels. Weight decay touches matrices and convolution kernels only.
// The parameters must outlive the optimizer and stay on their device. Thread-compatible.
class Optimizer {
 public:
  Optimizer(const v1::Optimizer& settings, std::vector<NamedTensor> parameters);

  // The Euclidean norm of all gradients; scales them down to `limit` if it is above. No scaling for a limit of 0.
  double ClipGradients(double limit);
  // One update from the gradients; parameters without a gradient stay. LibTorch's exceptions pass through.
  void Step(double lr);

  // Everything that a resumed run needs, by name; writing into the tensors restores it.
  std::vector<NamedTensor> State() const;

 private:
  struct Group {
    double weight_decay = 0;
    std::vector<int> members;  // indices into parameters_
  };
  void StepAdam(const Group& group, double lr);
  void StepSgd(const Group& group, double lr);

  const v1::Optimizer settings_;
  const std::vector<NamedTensor> parameters_;
  std::vector<Group> groups_;
  std::vector<at::Tensor> first_moments_;   // SGD: the momentum
  std::vector<at::Tensor> second_moments_;  // not SGD
  at::Tensor steps_;                        // [] fp32, steps taken
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMIZER_H_
