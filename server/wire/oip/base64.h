// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_BASE64_H_
#define VITRINE_SERVER_WIRE_OIP_BASE64_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vitrine {

// Decodes base64 with the alphabet of RFC 4648 or of URLs. Padding may be missing, and white space may be anywhere.
// Also accepts a data URL ("data:image/png;base64,..."), whose characters may be escaped as %2B. INVALID_ARGUMENT names
// the fault and its position; the message begins with a verb, so that the caller can put "element 3 " before it.
// Thread-safe.
absl::StatusOr<std::string> ReadBase64(std::string_view text);

// Returns what is wrong with `text` if it is a URL or the repr of Python bytes (b'...') instead of base64; ""
// otherwise. The sentence begins with a verb, like the messages of ReadBase64. Thread-safe.
std::string_view MistakenForBase64(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_BASE64_H_
