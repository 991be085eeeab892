// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_IMPORT_CONFIG_LABELS_H_
#define VITRINE_PUBLISH_IMPORT_CONFIG_LABELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// The labels that a config.json of timm or transformers gives the classes, in the order of the classes; empty where it
// gives none. Read is the first of label_names, labels, id2label and label2id that the config or its pretrained_cfg
// has: a list, or an object with a member for every number from 0 on. A JSON file that is such a list or object alone
// is read too. FAILED_PRECONDITION names the member at fault: a number that is missing, a label that is no text.
absl::StatusOr<std::vector<std::string>> LabelsOfConfig(std::string_view json);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_IMPORT_CONFIG_LABELS_H_
