// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_
#define VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "models/reference/model.h"

namespace vitrine::testing {

// Runs the model on some of the images in one batch and returns the values that tests/oracle/record.py records, sampled
// in the same way: "tokens.<block>.<image>", "final.<image>", "class_row.<layer>.<image>", "map.<layer>.<image>",
// "channels.<layer>.<image>" if `names` has them, and always "logits.<image>". `batch` holds indices into `images`, in
// batch order.
std::map<std::string, at::Tensor> Observe(const Model& model, const ImageBatch& images, const std::vector<int>& batch,
                                          const std::vector<std::string>& names);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_PARITY_OBSERVATION_H_
