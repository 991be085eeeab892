// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_DATA_H_
#define VITRINE_CLIENT_EVAL_DATA_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// Names and labels of the set are those of EscapedBytes (data/file_names.h): JSON and CSV have no other bytes than
// UTF-8. Opens what --data and --split say: OpenDataset's formats, and "cifar:" as a shorter "cifar10:". `split` is
// "test" or "train". Errors of OpenDataset.
absl::StatusOr<std::unique_ptr<Dataset>> OpenEvaluationData(const std::string& spec, const std::string& split);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_DATA_H_
