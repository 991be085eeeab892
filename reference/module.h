// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_MODULE_H_
#define VITRINE_REFERENCE_MODULE_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace vitrine {

// A named tensor of a module: "blocks.0.attention.qkv.weight".
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  bool decays = false;  // weight decay acts on it
};

// A part of a model that owns parameters, buffers and other parts.
//
// This is torch::nn::Module without its headers, which double the compile time of every file that sees them. Parts
// register themselves in their constructors; names join with dots. Not copyable, not movable: parents keep pointers.
// Thread-compatible: const forward passes may run concurrently while nobody writes the tensors.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // In order of registration, children after own. Parameters are trained; buffers are only stored.
  // The tensors share storage with the module's: writing to them in place changes the module.
  std::vector<NamedTensor> Parameters() const;
  std::vector<NamedTensor> Buffers() const;
  int64_t CountParameters() const;

  // Puts into the place of every tensor the one that `tensor_of` gives for its name, of its shape and type; storage is
  // shared from then on. The tensors returned by earlier calls no longer belong to the module.
  void Take(const std::function<at::Tensor(const std::string& name)>& tensor_of);
  // Moves every tensor; the tensors returned by earlier calls no longer belong to the module.
  void To(const at::Device& device);
  // requires_grad of every parameter. Off after construction.
  void RequireGrad(bool required);

 protected:
  // `tensor` is a member of the derived class; the registration refers to it, so that To() can replace it.
  void RegisterParameter(std::string name, at::Tensor& tensor, at::Tensor initial, bool decays);
  void RegisterBuffer(std::string name, at::Tensor& tensor, at::Tensor initial);
  // `child` is a member of the derived class or owned by it.
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

#endif  // VITRINE_REFERENCE_MODULE_H_
