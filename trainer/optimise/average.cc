// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

#include <utility>

namespace vitrine {
namespace {

std::vector<at::Tensor> TensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& tensor : named) tensors.push_back(tensor.tensor);
  return tensors;
}

void CopyEach(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i].tensor.copy_(from[i].tensor);
}

}  // namespace

void CopyTensors(const Module& from, const Module& to) {
  const at::AutoGradMode no_grad(false);
  CopyEach(from.Parameters(), to.Parameters());
  CopyEach(from.Buffers(), to.Buffers());
}

WeightAverage::WeightAverage(const Module& model, std::unique_ptr<Module> average, double decay)
    : model_(model), average_(std::move(average)), decay_(decay) {
  CopyTensors(model_, *average_);
}

void WeightAverage::Update() {
  const at::AutoGradMode no_grad(false);
  at::_foreach_lerp_(TensorsOf(average_->Parameters()), TensorsOf(model_.Parameters()), 1 - decay_);
  // The running statistics of BatchNorm are averaged too, since statistics of the current weights do not fit the
  // averaged weights.
  const std::vector<NamedTensor> from = model_.Buffers(), to = average_->Buffers();
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].tensor.is_floating_point()) {
      to[i].tensor.lerp_(from[i].tensor, 1 - decay_);
    } else {
      to[i].tensor.copy_(from[i].tensor);
    }
  }
}

}  // namespace vitrine
