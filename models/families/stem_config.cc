// SPDX-License-Identifier: Apache-2.0
#include "models/families/stem_config.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/input.h"

namespace vitrine {

absl::Status ValidateStem(absl::string_view family, int patch, int width) {
  if (patch != 8 && patch != 16) {
    return absl::InvalidArgumentError(absl::StrCat("config.", family, ".patch is ", patch, "; it must be 8 or 16"));
  }
  RETURN_IF_ERROR(CheckRange(absl::StrCat(family, ".width"), width, 1, 16384));
  if (width % (patch / 2) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("config.", family, ".width is ", width, "; it must be a multiple of ",
                                                 patch / 2, ", because the stem's first convolution has ", patch / 2,
                                                 " times fewer channels"));
}

absl::Status CheckInitialScale(absl::string_view field, float scale) {
  if (scale >= 0 && scale <= 100) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("config.", field, " is ", scale, "; it must be above 0 and at most 100, or 0 for the default"));
}

}  // namespace vitrine
