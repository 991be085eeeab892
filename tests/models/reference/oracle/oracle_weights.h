// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_WEIGHTS_H_
#define VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_WEIGHTS_H_

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>

#include <map>
#include <string>
#include <vector>

#include "models/reference/model.h"

namespace vitrine::testing {

// Parameters and buffers by name, in fp64.
class Weights {
 public:
  explicit Weights(const Model& model) {
    for (const NamedTensor& parameter : model.Parameters()) {
      tensors_[parameter.name] = parameter.tensor.detach().to(at::kDouble);
    }
    for (const NamedTensor& buffer : model.Buffers()) tensors_[buffer.name] = buffer.tensor.to(at::kDouble);
  }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  at::Tensor Get(const std::string& name) const { return tensors_.at(name); }

  at::Tensor Linear(const std::string& name, const at::Tensor& x) const {
    const at::Tensor product = x.matmul(Get(name + ".weight").t());
    return Has(name + ".bias") ? product + Get(name + ".bias") : product;
  }
  at::Tensor Norm(const std::string& name, const at::Tensor& x, double epsilon) const {
    const at::Tensor centred = x - x.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = (centred * centred).mean(-1, /*keepdim=*/true);
    return centred / (variance + epsilon).sqrt() * Get(name + ".weight") + Get(name + ".bias");
  }
  at::Tensor FeedForward(const std::string& name, const at::Tensor& x, double epsilon) const {
    return x + Linear(name + ".fc2", at::gelu(Linear(name + ".fc1", Norm(name + ".norm", x, epsilon))));
  }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

// Returns head h of the columns of x from `first` on.
inline at::Tensor Head(const at::Tensor& x, int64_t first, int64_t width, int h) {
  return x.narrow(1, first + h * width, width);
}

// Projects rows of pixels in the order row, column, channel.
inline at::Tensor LinearPatches(const Weights& weights, const at::Tensor& image, int patch) {
  std::vector<at::Tensor> rows;
  for (int64_t y = 0; y + patch <= image.size(1); y += patch) {
    for (int64_t x = 0; x + patch <= image.size(2); x += patch) {
      rows.push_back(image.narrow(1, y, patch).narrow(2, x, patch).permute({1, 2, 0}).reshape({1, -1}));
    }
  }
  return weights.Linear("patches.proj", at::cat(rows));
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_WEIGHTS_H_
