// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_ZOO_H_
#define VITRINE_DESCRIBE_ZOO_H_

#include <string>

#include "absl/status/status.h"
#include "report/data_table.h"

namespace vitrine {

// `vitrine-repo zoo`: every variant of the zoo with its exact counts and what its paper prints. The accuracy "ours" is
// the best top-1 among the versions in `repository` that have the variant's sizes; an empty name looks into none.
absl::Status ZooCommand(const std::string& repository, OutputFormat format);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_ZOO_H_
