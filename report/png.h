// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_PNG_H_
#define VITRINE_REPORT_PNG_H_

#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// The picture as a PNG file, grey or RGB with 8 bits per channel; decoding it gives the same pixels.
// INVALID_ARGUMENT if the sides, the channels and the number of bytes do not fit each other. Thread-safe.
absl::StatusOr<std::string> EncodePng(const Image& image);

}  // namespace vitrine

#endif  // VITRINE_REPORT_PNG_H_
