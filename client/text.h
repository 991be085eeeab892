// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TEXT_H_
#define VITRINE_CLIENT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// Text made safe for a terminal: control characters (a file name may hold an escape sequence) become '?', bytes that
// are not UTF-8 become U+FFFD.
std::string Printable(absl::string_view text);

// Columns that printable text takes on a terminal: combining marks none, East Asian wide characters and emoji two.
int DisplayWidth(absl::string_view text);

// The text cut to at most `width` columns (at least 1), with an ellipsis where something is missing: at the end, or,
// for paths, at the start, where they differ least.
std::string CutEnd(absl::string_view text, int width);
std::string CutStart(absl::string_view text, int width);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TEXT_H_
