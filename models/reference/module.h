// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_MODULE_H_
#define VITRINE_MODELS_REFERENCE_MODULE_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace vitrine {

// A named tensor of a module: "blocks.0.attention.qkv.weight".
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  bool decays = false;  // subject to weight decay
  double rate = 1;      // multiplier of the learning rate
};

// A part of a model that owns parameters, buffers and other modules.
//
// Replaces torch::nn::Module, whose headers double the compile time of every file. Modules register their parts in
// their constructors; names are joined with dots. Not copyable or movable: parents keep pointers. Thread-compatible:
// const forward passes may run concurrently while no thread writes the tensors.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // Returns the tensors in order of registration; a module's own tensors precede the tensors of its children.
  // Parameters are trained; buffers are only stored. The tensors share storage with the module: writing to them in
  // place changes the module.
  std::vector<NamedTensor> Parameters() const;
  std::vector<NamedTensor> Buffers() const;
  int64_t CountParameters() const;

  // Replaces every tensor by `tensor_of(name)`, which must have the same shape and type. The module then shares the
  // storage of the new tensors. Tensors returned by earlier calls no longer belong to the module.
  void Take(const std::function<at::Tensor(const std::string& name)>& tensor_of);
  // Moves every tensor to a device. Tensors returned by earlier calls no longer belong to the module.
  void To(const at::Device& device);
  // Sets requires_grad of every parameter; it is false after construction.
  void RequireGrad(bool required);

 protected:
  // Registers `tensor`, which must be a member of the derived class. The registration refers to this member, so that
  // To() can replace the tensor.
  void RegisterParameter(std::string name, at::Tensor& tensor, at::Tensor initial, bool decays);
  void RegisterBuffer(std::string name, at::Tensor& tensor, at::Tensor initial);
  // Registers `child`, which must be a member of the derived class or owned by it.
  void RegisterChild(std::string name, Module& child);

 private:
  void TakeUnder(const std::string& prefix, const std::function<at::Tensor(const std::string& name)>& tensor_of);

  struct Slot {
    std::string name;
    at::Tensor* tensor;
    bool decays = false;
  };
  struct Child {
    std::string name;
    Module* module;
  };
  std::vector<Slot> parameters_;
  std::vector<Slot> buffers_;
  std::vector<Child> children_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_MODULE_H_
