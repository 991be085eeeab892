// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_LABELS_H_
#define VITRINE_MODELS_REPOSITORY_LABELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Parses or formats labels.txt: line i is the label of class i. Every line ends with a line feed; a label is 1 to 256
// bytes of UTF-8 without ASCII control characters. Two classes may have the same label, as in ImageNet.
//
// INVALID_ARGUMENT names the invalid line, counting from 1.
absl::StatusOr<std::vector<std::string>> ParseLabels(std::string_view text);
absl::StatusOr<std::string> FormatLabels(const std::vector<std::string>& labels);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_LABELS_H_
