// SPDX-License-Identifier: Apache-2.0
// Compares our models with independent implementations: timm, or plain PyTorch written from the papers if timm lacks
// the model. Weights are recomputed from a hash. script/parity records the results in tests/golden/parity;
// docs/research/parity.md describes the method.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/models/parity/golden_case.h"
#include "tests/models/parity/observation.h"

namespace vitrine::testing {
namespace {

// Tolerance for our fp32 results against the oracle's fp64 results, in units of max(1, largest magnitude).
constexpr double kTolerance = 1e-4;

// Returns the largest difference in units of max(1, largest magnitude of `theirs`).
double Off(const at::Tensor& ours, const at::Tensor& theirs) {
  const double largest = std::max(1.0, theirs.abs().max().item<double>());
  return (ours - theirs).abs().max().item<double>() / largest;
}

// Returns logits [images, classes] minus their mean over the images. The rest shows how the logits depend on the image.
at::Tensor Centred(const at::Tensor& logits) {
  return logits - logits.mean(0, /*keepdim=*/true);
}

// A test of one file of tests/golden/parity, which the parameter names.
class Parity : public ::testing::TestWithParam<std::string> {
 protected:
  Parity() : golden_(GetParam()) {
    // Most of these models are too small to gain from a second thread. On a busy machine, threads would also spin while
    // they wait for each other.
    at::set_num_threads(1);
    for (const auto& [name, tensor] : golden_.recorded()) {
      if (name != "logits") names_.push_back(name);
    }
  }

  // Runs the model on these batches, which together have all images. Returns its results by the names of the recorded
  // tensors.
  std::map<std::string, at::Tensor> Observed(const Model& model, const std::vector<std::vector<int>>& batches) const {
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

  // Returns batches of images of equal size.
  std::vector<std::vector<int>> BySize() const {
    std::map<std::vector<int64_t>, std::vector<int>> sizes;
    for (size_t i = 0; i < golden_.images().size(); ++i) {
      sizes[golden_.images()[i].sizes().vec()].push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> batches;
    for (const auto& [size, batch] : sizes) batches.push_back(batch);
    return batches;
  }

  // Returns one batch of all images, in reverse order.
  std::vector<std::vector<int>> Mixed() const {
    std::vector<int> batch;
    for (int i = static_cast<int>(golden_.images().size()); i-- > 0;) batch.push_back(i);
    return {batch};
  }

  const GoldenCase golden_;

 private:
  std::vector<std::string> names_;
};

INSTANTIATE_TEST_SUITE_P(Goldens, Parity, ::testing::ValuesIn(GoldenCase::All()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST_P(Parity, GoldensHoldAloneAndInAMixedBatch) {
  const std::unique_ptr<Model> model = golden_.Build();
  double worst = 0;
  for (const auto& batches : {BySize(), Mixed()}) {
    const std::map<std::string, at::Tensor> observed = Observed(*model, batches);
    for (const auto& [name, expected] : golden_.recorded()) {
      ASSERT_TRUE(observed.contains(name)) << name << " is not handed out";
      ASSERT_EQ(observed.at(name).sizes(), expected.sizes()) << name;
      const double off = Off(observed.at(name), expected);
      EXPECT_LT(off, kTolerance) << name;
      worst = std::max(worst, off);
    }
    const double off = Off(Centred(observed.at("logits")), Centred(golden_.recorded().at("logits")));
    EXPECT_LT(off, kTolerance) << "logits less their mean";
    worst = std::max(worst, off);
  }
  RecordProperty("largest_difference", std::to_string(worst * 1e6) + "e-6");
}

}  // namespace
}  // namespace vitrine::testing
