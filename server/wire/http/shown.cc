// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/shown.h"

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace vitrine {

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 64;
  return text.size() <= kMost ? std::string(text) : absl::StrCat(std::string(FrontOf(text, kMost)), "...");
}

}  // namespace vitrine
