// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_RELABELLED_H_
#define VITRINE_COMMON_DATA_RELABELLED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/data/dataset.h"

namespace vitrine {

// Returns the images of `source` with a model's classes as their labels: label i of `source` becomes classes[i], an
// index into `labels`.
std::unique_ptr<Dataset> MakeRelabelled(std::unique_ptr<Dataset> source, std::vector<int32_t> classes,
                                        std::vector<std::string> labels);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_RELABELLED_H_
