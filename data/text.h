// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_TEXT_H_
#define VITRINE_DATA_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A text as a language model reads it.
struct EncodedText {
  std::vector<int64_t> ids;             // of its tokens, in their order: indices into `vocabulary`
  std::vector<std::string> vocabulary;  // its different tokens, sorted by their bytes
};

// The tokens of a text in its own vocabulary.
EncodedText EncodeTokens(const std::vector<std::string>& tokens);

// A text's characters (Unicode code points), line ends and blanks among them. INVALID_ARGUMENT names the byte at which
// it is no UTF-8.
absl::StatusOr<std::vector<std::string>> CharactersOf(std::string_view text);

// A sentence's words in lower case: separated by white space, and every ASCII punctuation mark is a word of its own, so
// that "It's two-piece." has it ' s two - piece . Letters of ASCII and Latin-1 (as UTF-8) become lower case; others
// stay.
std::vector<std::string> WordsOf(std::string_view sentence);

}  // namespace vitrine

#endif  // VITRINE_DATA_TEXT_H_
