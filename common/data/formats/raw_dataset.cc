// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/raw_dataset.h"

#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"

namespace vitrine {

absl::StatusOr<std::string> RawDataset::encoded(int64_t index) const {
  ASSIGN_OR_RETURN(const Image decoded, image(index));
  return EncodePng(decoded);
}

absl::StatusOr<std::string> RawDataset::stored(int64_t index) const {
  ASSIGN_OR_RETURN(const Image decoded, image(index));
  return std::string(decoded.pixels.begin(), decoded.pixels.end());
}

}  // namespace vitrine
