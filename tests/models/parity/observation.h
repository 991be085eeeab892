// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_
#define VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "models/reference/model.h"

namespace vitrine::testing {

// Runs the model on one batch of some of the images. Returns the values that tests/oracle/record.py records, with the
// same sampling. Always returns "logits.<image>". Returns "tokens.<block>.<image>", "final.<image>",
// "class_row.<layer>.<image>", "map.<layer>.<image>" and "channels.<layer>.<image>" if `names` has them. `batch` holds
// indices into `images`, in batch order.
std::map<std::string, at::Tensor> Observe(const Model& model, const ImageBatch& images, const std::vector<int>& batch,
                                          const std::vector<std::string>& names);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_
