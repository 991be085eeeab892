// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_BASE64_H_
#define VITRINE_SERVER_WIRE_OIP_BASE64_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vitrine {

// Reads base64 in the forms that programs write: the alphabet of RFC 4648 or the one of URLs, with or without padding,
// with white space and line breaks anywhere, and behind the prefix of a data URL ("data:image/png;base64,"), in which
// characters may be written as %2B. INVALID_ARGUMENT says what is in the way and where; its sentence begins with a
// verb, for "element 3 " before it. Thread-safe.
absl::StatusOr<std::string> ReadBase64(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_BASE64_H_
