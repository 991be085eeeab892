// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_HEAD_LINEAR_HEAD_H_
#define VITRINE_MODELS_TOOL_PUBLISH_HEAD_LINEAR_HEAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Feature vectors of images, with their classes.
struct LabelledFeatures {
  int width = 0;
  int classes = 0;
  std::vector<double> values = {};   // [images, width]
  std::vector<int32_t> labels = {};  // class of each image; each class has at least two images
};

// A linear classifier, logits = weight x + bias. The logits are scaled by a factor so that their softmax fits the
// labels of images that were left out of the fit (Guo et al. 2017, section 4.2). The factor does not change which class
// has the largest logit.
struct LinearHead {
  std::vector<double> weight = {};  // [classes, width]
  std::vector<double> bias = {};    // [classes]
  double alpha = 0;                 // penalty of a probe
  int64_t correct = 0;              // number of images classified correctly by a head fitted without the image
};

// Returns the classifier that chooses the class with the nearest mean m_c in Euclidean distance. Before they are
// scaled, the logits are x m_c - |m_c|^2 / 2 plus a number that is equal for all classes. FAILED_PRECONDITION: all
// features are equal.
absl::StatusOr<LinearHead> FitPrototypes(LabelledFeatures features);

// Returns the ridge regression of one-hot targets with intercept: it minimises the squared error plus alpha |weight|^2.
// Without `alpha`, tries seven powers of ten, from about 1e-5 to 10 times the mean sum of squares of a centred feature.
// Uses the power with the smallest leave-one-out squared error. FAILED_PRECONDITION: all features are equal, or alpha
// is too small for the precision of a double.
absl::StatusOr<LinearHead> FitProbe(LabelledFeatures features, std::optional<double> alpha);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_HEAD_LINEAR_HEAD_H_
