// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_TEXT_H_
#define VITRINE_REPOSITORY_TEXT_H_

#include <string>
#include <string_view>

namespace vitrine {

// True for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. protobuf refuses to send a
// string that is not.
bool IsValidUtf8(std::string_view bytes);

// `untrusted` in double quotes, fit for a message and a terminal: control characters, quotes and malformed UTF-8 are
// escaped, and after 100 bytes an ellipsis follows.
std::string Quoted(std::string_view untrusted);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_TEXT_H_
