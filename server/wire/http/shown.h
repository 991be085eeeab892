// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_SHOWN_H_
#define VITRINE_SERVER_WIRE_HTTP_SHOWN_H_

#include <string>
#include <string_view>

namespace vitrine {

// A name from a request, fit for a sentence: cut to 64 bytes, between two characters.
std::string Shown(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_SHOWN_H_
