// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_FILES_TEXT_H_
#define VITRINE_MODELS_REPOSITORY_FILES_TEXT_H_

#include <string>
#include <string_view>

namespace vitrine {

// Returns true for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. protobuf rejects other
// strings.
bool IsValidUtf8(std::string_view bytes);

// Returns `untrusted` in double quotes, safe for messages and terminals: control characters, quotes and malformed UTF-8
// are escaped. After 100 bytes, an ellipsis replaces the rest.
std::string Quoted(std::string_view untrusted);

// Returns `untrusted` for messages, terminals and manifests: each byte of a control character, of a character that sets
// the text direction, or of malformed UTF-8 becomes \xHH. All other text, such as "è" or an apostrophe, is unchanged.
std::string EscapedText(std::string_view untrusted);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_FILES_TEXT_H_
