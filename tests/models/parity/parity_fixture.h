// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_PARITY_PARITY_FIXTURE_H_
#define VITRINE_TESTS_MODELS_PARITY_PARITY_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/models/parity/golden_case.h"

namespace vitrine::testing {

// Tolerance for our fp32 against the oracle's fp64, in units of max(1, largest magnitude).
inline constexpr double kTolerance = 1e-4;

// Returns the largest difference in units of max(1, largest magnitude of `theirs`).
double Off(const at::Tensor& ours, const at::Tensor& theirs);

// Returns logits [images, classes] without their mean over images, which does not depend on the image.
at::Tensor Centred(const at::Tensor& logits);

// A test of one golden, named by the parameter.
class Parity : public ::testing::TestWithParam<std::string> {
 protected:
  Parity();

  // Runs the model on all images in these batches. Returns its results by the names of the recorded tensors.
  std::map<std::string, at::Tensor> Observed(const Model& model, const std::vector<std::vector<int>>& batches) const;
  // Returns batches of images of equal size.
  std::vector<std::vector<int>> BySize() const;
  // Returns one batch of all images, in reverse order.
  std::vector<std::vector<int>> Mixed() const;

  const GoldenCase golden_;

 private:
  std::vector<std::string> names_;
};

std::string ParityTestName(const ::testing::TestParamInfo<std::string>& info);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_PARITY_PARITY_FIXTURE_H_
