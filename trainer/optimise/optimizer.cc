// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <map>
#include <utility>

namespace vitrine {

Optimizer::Optimizer(const v1::Optimizer& settings, std::vector<NamedTensor> parameters)
    : settings_(settings), parameters_(std::move(parameters)), steps_(at::zeros({}, at::kFloat)) {
  // Indices of the parameters, grouped by weight decay (true if it applies) and by NamedTensor::rate.
  std::map<std::pair<bool, double>, std::vector<int>> groups;
  for (int i = 0; i < static_cast<int>(parameters_.size()); ++i) {
    groups[{parameters_[i].decays || settings.decays_all(), parameters_[i].rate}].push_back(i);
    first_moments_.push_back(at::zeros_like(parameters_[i].tensor));
    if (settings.kind() != v1::Optimizer::SGD) second_moments_.push_back(at::zeros_like(parameters_[i].tensor));
  }
  for (auto& [key, members] : groups) groups_.push_back({key.first, key.second, std::move(members)});
}

double Optimizer::ClipGradients(double limit) {
  const at::AutoGradMode no_grad(false);
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters_) {
    if (parameter.tensor.grad().defined()) gradients.push_back(parameter.tensor.grad());
  }
  if (gradients.empty()) return 0;
  const double norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients))).item<double>();
  if (limit > 0 && norm > limit) at::_foreach_mul_(gradients, limit / norm);
  return norm;
}

void Optimizer::Step(double lr, std::optional<double> beta1) {
  const at::AutoGradMode no_grad(false);
  steps_.add_(1);
  for (const Group& group : groups_) {
    if (settings_.kind() == v1::Optimizer::SGD) {
      StepSgd(group, lr * group.rate);
    } else {
      StepAdam(group, lr * group.rate, beta1.value_or(settings_.has_beta1() ? settings_.beta1() : 0.9));
    }
  }
}

void Optimizer::StepAdam(const Group& group, double lr, double beta1) {
  std::vector<at::Tensor> parameters, gradients, first, second, steps;
  for (const int i : group.members) {
    if (!parameters_[i].tensor.grad().defined()) continue;
    parameters.push_back(parameters_[i].tensor);
    gradients.push_back(parameters_[i].tensor.grad());
    first.push_back(first_moments_[i]);
    second.push_back(second_moments_[i]);
    steps.push_back(steps_);
  }
  if (parameters.empty()) return;
  const double beta2 = settings_.has_beta2() ? settings_.beta2() : 0.999;
  const double epsilon = settings_.has_epsilon() ? settings_.epsilon() : 1e-8;
  if (settings_.kind() == v1::Optimizer::ADAM) {
    at::_fused_adam_(parameters, gradients, first, second, {}, steps, lr, beta1, beta2, WeightDecayOf(group), epsilon,
                     /*amsgrad=*/false, /*maximize=*/false);
  } else {
    at::_fused_adamw_(parameters, gradients, first, second, {}, steps, lr, beta1, beta2, WeightDecayOf(group), epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
}

void Optimizer::StepSgd(const Group& group, double lr) {
  std::vector<at::Tensor> parameters, gradients, momenta;
  for (const int i : group.members) {
    if (!parameters_[i].tensor.grad().defined()) continue;
    parameters.push_back(parameters_[i].tensor);
    gradients.push_back(parameters_[i].tensor.grad());
    // Without momentum, LibTorch expects an empty list of momenta.
    if (settings_.momentum() > 0) momenta.push_back(first_moments_[i]);
  }
  if (parameters.empty()) return;
  // The momenta start at zero, so the first step needs no special case.
  at::_fused_sgd_(parameters, gradients, momenta, WeightDecayOf(group), settings_.momentum(), lr, /*dampening=*/0,
                  settings_.nesterov(), /*maximize=*/false, /*is_first_step=*/false);
}

std::vector<std::string> Optimizer::Decayed() const {
  std::vector<std::string> names;
  for (const Group& group : groups_) {
    if (!group.decays) continue;
    for (const int i : group.members) names.push_back(parameters_[i].name);
  }
  return names;
}

std::vector<NamedTensor> Optimizer::State() const {
  std::vector<NamedTensor> state = {{"steps", steps_}};
  for (size_t i = 0; i < parameters_.size(); ++i) {
    state.push_back({"first." + parameters_[i].name, first_moments_[i]});
    if (!second_moments_.empty()) state.push_back({"second." + parameters_[i].name, second_moments_[i]});
  }
  return state;
}

}  // namespace vitrine
