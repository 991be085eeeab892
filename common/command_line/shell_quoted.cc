// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/shell_quoted.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace vitrine {

std::string ShellQuoted(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_@%+=:,./-", c);
  });
  if (plain && !text.empty()) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace vitrine
