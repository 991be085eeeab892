// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_ZOO_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_ZOO_H_

#include <string>

#include "absl/status/status.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

// `vitrine-repo zoo`: prints every zoo variant with its exact counts and its paper's figures. The accuracy "ours" is
// the best top-1 among the versions in `repository` whose config is the variant's, except for the preprocessing. If
// `repository` is empty, "ours" is missing.
absl::Status ZooCommand(const std::string& repository, OutputFormat format);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_ZOO_H_
