// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_TEXT_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// Makes text safe for a terminal: control characters (such as escape sequences in a file name) become '?', invalid
// UTF-8 becomes U+FFFD.
std::string Printable(absl::string_view text);

// Returns the terminal columns of printable text: 0 for a combining mark, 2 for East Asian wide characters and emoji.
int DisplayWidth(absl::string_view text);

// Text before the name of the first class, if the server marked the answer as unsure (ClassifyResponse.unsure).
inline constexpr char kUnsure[] = "unsure: ";

// Cut the text to at most `width` terminal columns and mark the cut with an ellipsis. Require width >= 1. CutStart
// removes the start of the text; it is for paths, because paths differ at their ends.
std::string CutEnd(absl::string_view text, int width);
std::string CutStart(absl::string_view text, int width);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_TEXT_H_
