// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_FILE_TYPE_H_
#define VITRINE_COMMON_IMAGING_FILE_TYPE_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace vitrine {

// Returns the type of a file that is no JPEG, PNG or WebP, from its first bytes: "a GIF", "a PDF"; "" if unknown. Error
// messages use the result to name the type that the user must convert.
absl::string_view FileTypeOf(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_FILE_TYPE_H_
