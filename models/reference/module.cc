// SPDX-License-Identifier: Apache-2.0
#include "models/reference/module.h"

#include <ATen/core/grad_mode.h>

#include <utility>

namespace vitrine {
namespace {

void Prefix(const std::string& prefix, std::vector<NamedTensor> children, std::vector<NamedTensor>& all) {
  for (NamedTensor& child : children) {
    all.push_back({prefix + "." + child.name, std::move(child.tensor), child.decays});
  }
}

}  // namespace

std::vector<NamedTensor> Module::Parameters() const {
  std::vector<NamedTensor> all;
  for (const Slot& slot : parameters_) all.push_back({slot.name, *slot.tensor, slot.decays});
  for (const Child& child : children_) Prefix(child.name, child.module->Parameters(), all);
  return all;
}

std::vector<NamedTensor> Module::Buffers() const {
  std::vector<NamedTensor> all;
  for (const Slot& slot : buffers_) all.push_back({slot.name, *slot.tensor});
  for (const Child& child : children_) Prefix(child.name, child.module->Buffers(), all);
  return all;
}

int64_t Module::CountParameters() const {
  int64_t count = 0;
  for (const NamedTensor& parameter : Parameters()) count += parameter.tensor.numel();
  return count;
}

void Module::Take(const std::function<at::Tensor(const std::string& name)>& tensor_of) {
  TakeUnder("", tensor_of);
}

void Module::TakeUnder(const std::string& prefix, const std::function<at::Tensor(const std::string& name)>& tensor_of) {
  for (std::vector<Slot>* slots : {&parameters_, &buffers_}) {
    for (Slot& slot : *slots) *slot.tensor = tensor_of(prefix + slot.name);
  }
  for (Child& child : children_) child.module->TakeUnder(prefix + child.name + ".", tensor_of);
}

void Module::To(const at::Device& device) {
  const at::NoGradGuard no_grad;
  for (std::vector<Slot>* slots : {&parameters_, &buffers_}) {
    for (Slot& slot : *slots) {
      const bool required = slot.tensor->requires_grad();
      *slot.tensor = slot.tensor->detach().to(device);
      slot.tensor->set_requires_grad(required);
    }
  }
  for (Child& child : children_) child.module->To(device);
}

void Module::RequireGrad(bool required) {
  for (Slot& slot : parameters_) slot.tensor->set_requires_grad(required);
  for (Child& child : children_) child.module->RequireGrad(required);
}

void Module::RegisterParameter(std::string name, at::Tensor& tensor, at::Tensor initial, bool decays) {
  tensor = std::move(initial);
  parameters_.push_back({std::move(name), &tensor, decays});
}

void Module::RegisterBuffer(std::string name, at::Tensor& tensor, at::Tensor initial) {
  tensor = std::move(initial);
  buffers_.push_back({std::move(name), &tensor});
}

void Module::RegisterChild(std::string name, Module& child) {
  children_.push_back({std::move(name), &child});
}

}  // namespace vitrine
