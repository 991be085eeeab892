// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_DATA_TEXT_H_
#define VITRINE_TRAINER_LAB_DATA_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A text as token ids.
struct EncodedText {
  std::vector<int64_t> ids;             // tokens in order, as indices into `vocabulary`
  std::vector<std::string> vocabulary;  // distinct tokens, sorted by bytes
};

// Encodes the tokens of a text with its own vocabulary.
EncodedText EncodeTokens(const std::vector<std::string>& tokens);

// Returns a text's characters (Unicode code points), including line ends and blanks. INVALID_ARGUMENT: the text is not
// valid UTF-8; the message has the offset.
absl::StatusOr<std::vector<std::string>> CharactersOf(std::string_view text);

// Returns a sentence's words in lower case. White space separates words, and every ASCII punctuation mark is a word:
// "It's two-piece." has the seven words: it ' s two - piece . Converts only letters of ASCII and Latin-1 (in UTF-8) to
// lower case.
std::vector<std::string> WordsOf(std::string_view sentence);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_DATA_TEXT_H_
