// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_OPTIMIZER_H_
#define VITRINE_TRAINER_OPTIMISE_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "models/reference/module.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// AdamW (decoupled decay, Loshchilov and Hutter 2019), Adam (Kingma and Ba 2015) or SGD with momentum, with LibTorch's
// fused kernels. Each parameter has its own multiplier of the learning rate (NamedTensor::rate). Weight decay applies
// to the parameters that the model marks, or to all parameters if the settings say so. The parameters must outlive the
// optimizer and stay on their device. Thread-compatible.
class Optimizer {
 public:
  Optimizer(const v1::Optimizer& settings, std::vector<NamedTensor> parameters);

  // Returns the Euclidean norm of all gradients. If the norm is above `limit`, scales all gradients by the same factor,
  // so that the norm becomes `limit`. 0 means no limit.
  double ClipGradients(double limit);
  // Updates the parameters that have gradients. `beta1` overrides the beta1 of the settings. Throws LibTorch's
  // exceptions.
  void Step(double lr, std::optional<double> beta1 = std::nullopt);

  // Returns the names of the parameters to which weight decay applies.
  std::vector<std::string> Decayed() const;

  // Returns the state that a resumed run needs, by name. Writing to these tensors restores the state.
  std::vector<NamedTensor> State() const;

 private:
  struct Group {
    bool decays = false;
    double rate = 1;           // NamedTensor::rate of all members
    std::vector<int> members;  // indices into parameters_
  };
  double WeightDecayOf(const Group& group) const { return group.decays ? settings_.weight_decay() : 0; }
  void StepAdam(const Group& group, double lr, double beta1);
  void StepSgd(const Group& group, double lr);

  const v1::Optimizer settings_;
  const std::vector<NamedTensor> parameters_;
  std::vector<Group> groups_;
  std::vector<at::Tensor> first_moments_;   // the first moments of Adam, or the momenta of SGD
  std::vector<at::Tensor> second_moments_;  // the second moments of Adam; empty for SGD
  at::Tensor steps_;                        // [] fp32, steps taken
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_OPTIMIZER_H_
