// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as a token file. The text must give a table that accepts no digest as a token, or be rejected
// with a message that repeats no possible secret.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/identity/token_table.h"
#include "tests/fuzz/require.h"

namespace {

// Returns true if the sentence repeats kShortestToken consecutive characters of a word of the text.
bool Tells(std::string_view sentence, std::string_view text) {
  constexpr size_t kPart = vitrine::TokenTable::kShortestToken;
  for (size_t at = 0; at + kPart <= text.size(); ++at) {
    const std::string_view part = text.substr(at, kPart);
    const bool is_word = std::none_of(part.begin(), part.end(), [](unsigned char c) { return std::isspace(c); });
    if (is_word && sentence.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = vitrine::TokenTable::Parse(text);
  if (!table.ok()) {
    Require(table.status().code() == absl::StatusCode::kInvalidArgument);
    Require(!Tells(std::string_view(table.status().message().data(), table.status().message().size()), text));
    return 0;
  }
  Require(table->size() <= size / 72);  // the shortest line has 72 bytes, with a name of one letter
  // A digest must not be accepted as a token. The text itself could be a token only if SHA-256 had a collision.
  Require(!table->NameOf(text).has_value());
  for (size_t at = text.find("sha256:"); at != std::string_view::npos; at = text.find("sha256:", at + 1)) {
    Require(!table->NameOf(text.substr(at + 7, 64)).has_value());
  }
  return 0;
}
