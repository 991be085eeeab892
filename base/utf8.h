// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_UTF8_H_
#define VITRINE_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace vitrine {

// Whether all of `text` is UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). Strings of
// proto3 and of JSON must be: one that is not makes its whole message unreadable.
bool IsUtf8(std::string_view text);

// As much of the front of `text`, which is UTF-8, as has at most `most` bytes and ends between two characters.
std::string_view FrontOf(std::string_view text, size_t most);

// A name from a request, fit for a sentence: cut to 64 bytes, between two characters.
std::string Shown(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_BASE_UTF8_H_
