// SPDX-License-Identifier: Apache-2.0
#include "server/identity/token_table.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/byte_order_mark.h"

namespace vitrine {
namespace {

constexpr size_t kLongestTokenName = 64;

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kLongestTokenName &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; });
}

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::Parse(std::string_view text) {
  TokenTable table;
  int number = 0;
  const std::string_view unmarked = WithoutByteOrderMark(text);
  const absl::string_view lines(unmarked.data(), unmarked.size());
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " ", what, "; a line is NAME sha256:<64 hexadecimal digits>"));
    };
    if (words.size() != 2) return wrong("does not have two words");
    if (!IsName(words[0])) return wrong("does not begin with a name of up to 64 letters, digits, '_', '.' and '-'");
    absl::string_view digest = words[1];
    if (!absl::ConsumePrefix(&digest, "sha256:") || digest.size() != 2 * sizeof(Sha256Digest) || !IsHex(digest)) {
      return wrong("has no SHA-256 as its second word");
    }
    Row row = {.name = std::string(words[0]), .digest = {}};
    const std::string bytes = absl::HexStringToBytes(digest);
    std::memcpy(row.digest.data(), bytes.data(), row.digest.size());
    for (const Row& other : table.rows_) {
      if (other.digest == row.digest) return wrong("repeats the digest of an earlier line");
    }
    table.rows_.push_back(std::move(row));
  }
  return table;
}

std::optional<std::string> TokenTable::NameOf(std::string_view token) const {
  if (token.size() < kShortestToken) return std::nullopt;
  const Sha256Digest digest = Sha256(token);
  const Row* found = nullptr;
  for (const Row& row : rows_) {
    if (CRYPTO_memcmp(row.digest.data(), digest.data(), digest.size()) == 0) found = &row;
  }
  if (found == nullptr) return std::nullopt;
  return found->name;
}

}  // namespace vitrine
