// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_BYTE_ORDER_MARK_H_
#define VITRINE_COMMON_BYTE_ORDER_MARK_H_

#include <string_view>

namespace vitrine {

// Returns UTF-8 text without the byte order mark that some editors put at its start. Parsers of text files call this
// first, because the mark is no part of the text.
inline std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_BYTE_ORDER_MARK_H_
