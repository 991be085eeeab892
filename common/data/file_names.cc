// SPDX-License-Identifier: Apache-2.0
#include "common/data/file_names.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/data/unicode.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

// Returns the size in bytes of the text's first character, or 0 if it is invalid UTF-8.
size_t FirstCharacter(std::string_view text) {
  constexpr size_t kLongest = 4;
  for (size_t bytes = 1; bytes <= std::min(kLongest, text.size()); ++bytes) {
    if (IsUtf8(text.substr(0, bytes))) return bytes;
  }
  return 0;
}

int HexDigit(char digit) {
  return absl::ascii_isdigit(static_cast<unsigned char>(digit)) ? digit - '0' : absl::ascii_tolower(digit) - 'a' + 10;
}

bool IsEscape(std::string_view text) {
  const auto hex = [&](size_t i) { return absl::ascii_isxdigit(static_cast<unsigned char>(text[i])); };
  return text.size() >= 4 && text.starts_with("\\x") && hex(2) && hex(3);
}

bool IsThere(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::not_found;
}

}  // namespace

std::string EscapedBytes(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t bytes = FirstCharacter(text);
    if (bytes == 0 || first == '\\' || absl::ascii_iscntrl(first)) {
      absl::StrAppend(&escaped, "\\x", absl::Hex(first, absl::kZeroPad2));
    } else {
      escaped += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return escaped;
}

std::string UnescapedBytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const bool escape = IsEscape(text);
    bytes += escape ? static_cast<char>(16 * HexDigit(text[2]) + HexDigit(text[3])) : text[0];
    text.remove_prefix(escape ? 4 : 1);
  }
  return bytes;
}

std::string ListedFile(const std::filesystem::path& folder, std::string_view text) {
  const std::string stripped(WithoutBlanks(text));
  std::string slashes = stripped;
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  std::vector<std::string> tried;
  for (const std::string& name : {std::string(text), stripped, UnescapedBytes(stripped), slashes, Composed(stripped),
                                  Decomposed(stripped), Composed(slashes), Decomposed(slashes)}) {
    if (name.empty() || std::find(tried.begin(), tried.end(), name) != tried.end()) continue;
    if (name.find('\0') == std::string::npos && IsThere(folder / name)) return name;
    tried.push_back(name);
  }
  return slashes;
}

}  // namespace vitrine
