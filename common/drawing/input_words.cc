// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/input_words.h"

#include "absl/strings/str_cat.h"

namespace vitrine {

std::string InputDescription(const v1::ModelConfig& config) {
  const v1::Preprocessing& input = config.preprocessing();
  const char* colour = input.channels() == 1 ? "grey" : "RGB";
  if (input.has_fixed()) return absl::StrCat(input.fixed().height(), "x", input.fixed().width(), " ", colour);
  if (!input.has_native()) return colour;
  const v1::NativeResolution& native = input.native();
  return absl::StrCat(native.min_tokens(), " to ", native.max_tokens(), " tokens of ", native.cell(), "x",
                      native.cell(), " ", colour);
}

}  // namespace vitrine
