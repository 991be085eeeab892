// SPDX-License-Identifier: Apache-2.0
#include "tests/models/parity/parity_fixture.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cctype>

#include "tests/models/parity/observation.h"

namespace vitrine::testing {

double Off(const at::Tensor& ours, const at::Tensor& theirs) {
  const double largest = std::max(1.0, theirs.abs().max().item<double>());
  return (ours - theirs).abs().max().item<double>() / largest;
}

at::Tensor Centred(const at::Tensor& logits) {
  return logits - logits.mean(0, /*keepdim=*/true);
}

Parity::Parity() : golden_(GetParam()) {
  // Most of these models are too small to gain from a second thread, and on a busy machine threads would spin while
  // they wait for each other.
  at::set_num_threads(1);
  for (const auto& [name, tensor] : golden_.recorded()) {
    if (name != "logits") names_.push_back(name);
  }
}

std::map<std::string, at::Tensor> Parity::Observed(const Model& model,
                                                   const std::vector<std::vector<int>>& batches) const {
  std::map<std::string, at::Tensor> all;
  for (const std::vector<int>& batch : batches) all.merge(Observe(model, golden_.images(), batch, names_));
  std::vector<at::Tensor> logits;
  for (size_t i = 0; i < golden_.images().size(); ++i) {
    const auto row = all.find("logits." + std::to_string(i));
    if (row == all.end()) return {};  // Observe failed and has already reported the error
    logits.push_back(row->second);
  }
  all["logits"] = at::stack(logits);
  return all;
}

std::vector<std::vector<int>> Parity::BySize() const {
  std::map<std::vector<int64_t>, std::vector<int>> sizes;
  for (size_t i = 0; i < golden_.images().size(); ++i) {
    sizes[golden_.images()[i].sizes().vec()].push_back(static_cast<int>(i));
  }
  std::vector<std::vector<int>> batches;
  for (const auto& [size, batch] : sizes) batches.push_back(batch);
  return batches;
}

std::vector<std::vector<int>> Parity::Mixed() const {
  std::vector<int> batch;
  for (int i = static_cast<int>(golden_.images().size()); i-- > 0;) batch.push_back(i);
  return {batch};
}

std::string ParityTestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

}  // namespace vitrine::testing
