// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_SUBSET_H_
#define VITRINE_COMMON_DATA_SUBSET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/data/dataset.h"

namespace vitrine {

// Returns the images of `source` at `indices`, in that order. All classes of `source` are kept.
std::unique_ptr<Dataset> MakeSubset(std::shared_ptr<const Dataset> source, std::vector<int64_t> indices);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_SUBSET_H_
