// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CONFIG_LABELS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CONFIG_LABELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Returns the labels of the classes from a config.json of timm or transformers, in class order; empty if it has no
// labels. Uses the first of label_names, labels, id2label and label2id in the config or its pretrained_cfg. The member
// must be a list, or an object whose keys (for label2id: whose values) are the numbers from 0 on without a gap. Also
// accepts a JSON file that is such a list or object. FAILED_PRECONDITION: not JSON, a missing number, or a label that
// is neither text nor an integer.
absl::StatusOr<std::vector<std::string>> LabelsOfConfig(std::string_view json);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CONFIG_LABELS_H_
