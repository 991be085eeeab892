// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_DATA_H_
#define VITRINE_CLIENT_EVAL_DATA_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens the data set of --data and --split. `spec` has a format of OpenDataset; "cifar:" is short for "cifar10:".
// `split` is "test" or "train". Names and labels are escaped by EscapedBytes (common/data/file_names.h), because JSON
// and CSV must be UTF-8. Returns the errors of OpenDataset.
absl::StatusOr<std::unique_ptr<Dataset>> OpenEvaluationData(const std::string& spec, const std::string& split);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_DATA_H_
