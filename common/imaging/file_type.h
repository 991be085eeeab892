// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_FILE_TYPE_H_
#define VITRINE_COMMON_IMAGING_FILE_TYPE_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace vitrine {

// Names the type of a file that is no JPEG, PNG or WebP, by its first bytes: "a GIF", "a PDF"; empty if unknown. For an
// error that says what to convert.
absl::string_view FileTypeOf(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_FILE_TYPE_H_
