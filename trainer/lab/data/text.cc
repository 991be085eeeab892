// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/text.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

uint8_t ByteAt(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

// Returns the number of bytes of the code point at `at`; 0 if it is not valid UTF-8 (RFC 3629: shortest form, no
// surrogates, at most U+10FFFF).
size_t CodePointBytes(std::string_view text, size_t at) {
  const uint8_t first = ByteAt(text, at);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((ByteAt(text, at + i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = ByteAt(text, at + 1);
  const bool too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool no_character = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return too_long || no_character ? 0 : bytes;
}

// Returns true for the Latin-1 letters A-grave to Thorn in UTF-8. The second byte of the lower-case letter is 0x20
// higher.
bool IsLatinCapital(uint8_t first, uint8_t second) {
  constexpr uint8_t kTimes = 0x97;  // the multiplication sign, whose code is between the codes of the letters
  return first == 0xC3 && second >= 0x80 && second <= 0x9E && second != kTimes;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (size_t i = 0; i < lower.size(); ++i) {
    const bool latin = i > 0 && IsLatinCapital(ByteAt(text, i - 1), ByteAt(text, i));
    lower[i] = latin ? static_cast<char>(ByteAt(text, i) + 0x20) : absl::ascii_tolower(text[i]);
  }
  return lower;
}

}  // namespace

EncodedText EncodeTokens(const std::vector<std::string>& tokens) {
  std::map<std::string_view, int64_t> ids;
  for (const std::string& token : tokens) ids.emplace(token, 0);
  EncodedText text;
  for (auto& [token, id] : ids) {
    id = static_cast<int64_t>(text.vocabulary.size());
    text.vocabulary.emplace_back(token);
  }
  text.ids.reserve(tokens.size());
  for (const std::string& token : tokens) text.ids.push_back(ids[token]);
  return text;
}

absl::StatusOr<std::vector<std::string>> CharactersOf(std::string_view text) {
  std::vector<std::string> characters;
  characters.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CodePointBytes(text, at);
    if (bytes == 0) return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", at));
    characters.emplace_back(text.substr(at, bytes));
    at += bytes;
  }
  return characters;
}

std::vector<std::string> WordsOf(std::string_view sentence) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (const char c : LowerCase(sentence)) {
    if (absl::ascii_isspace(c)) {
      end_word();
    } else if (absl::ascii_ispunct(c)) {
      end_word();
      words.emplace_back(1, c);
    } else {
      word += c;
    }
  }
  end_word();
  return words;
}

}  // namespace vitrine
