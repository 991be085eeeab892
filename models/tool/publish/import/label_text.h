// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_LABEL_TEXT_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_LABEL_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Labels from a text file, in class order.
struct LabelText {
  std::vector<std::string> labels = {};
  std::string form = {};  // description of the form; empty for one plain label per line
};

// Reads the labels in a text (see PlainText), without the blanks around them. Accepts the formats in which lists of
// classes are published:
//   cat              one label per line
//   "cat"            one label per line, each in quotes
//   0 cat            a number before every label, then blanks, or one of , : ; = . ) ; a header line may come first
//   {0: 'cat', ...   a Python dictionary or list, or JSON
// INVALID_ARGUMENT or FAILED_PRECONDITION: there is no label; the numbers are not 0 to n-1 in that order; or the text
// starts like a dictionary or list but is neither. The message names the format.
absl::StatusOr<LabelText> ParseLabelText(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_LABEL_TEXT_H_
