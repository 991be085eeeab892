// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_RAW_DATASET_H_
#define VITRINE_COMMON_DATA_FORMATS_RAW_DATASET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// A set that stores raw pixels: encoded() returns PNG, and digests cover the pixels.
class RawDataset : public Dataset {
 public:
  absl::StatusOr<std::string> encoded(int64_t index) const final;
  absl::StatusOr<std::string> stored(int64_t index) const final;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_RAW_DATASET_H_
