// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_RAW_PNG_H_
#define VITRINE_DATA_RAW_PNG_H_

#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// A picture of a set that stores raw pixels, as the PNG file that would be sent to a server. Grey or RGB, 8 bits.
absl::StatusOr<std::string> RawToPng(const Image& image);

}  // namespace vitrine

#endif  // VITRINE_DATA_RAW_PNG_H_
