#ifndef VITRINE_REPORT_PNG_H_
#define VITRINE_REPORT_PNG_H_

#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// The picture as a PNG file.
absl::StatusOr<std::string> EncodePng(const Image& image);

}  // namespace vitrine

#endif  // VITRINE_REPORT_PNG_H_
