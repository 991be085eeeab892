// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_EVAL_MADE_DATA_H_
#define VITRINE_TESTS_CLIENT_EVAL_MADE_DATA_H_

#include <string>
#include <utility>
#include <vector>

#include "client/eval/evaluation.h"
#include "common/data/dataset.h"
#include "tests/common/imaging/images.h"

namespace vitrine {

// The images of a constructed evaluation, in memory. Each image has 12x8 pixels of noise, and no two images are equal.
class MadeData : public Dataset {
 public:
  explicit MadeData(const Evaluation& evaluation) {
    labels_ = evaluation.data_labels;
    for (const Prediction& prediction : evaluation.predictions) {
      names_.push_back(prediction.name);
      numbers_.push_back(prediction.data_label);
    }
  }
  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  int label(int64_t index) const override { return numbers_[static_cast<size_t>(index)]; }
  std::string name(int64_t index) const override { return names_[static_cast<size_t>(index)]; }
  absl::StatusOr<Image> image(int64_t index) const override {
    return NoiseImage(12, 8, 3, static_cast<uint32_t>(index + 1));
  }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return PngFile(*image(index)); }

 private:
  std::vector<std::string> names_;
  std::vector<int> numbers_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_EVAL_MADE_DATA_H_
