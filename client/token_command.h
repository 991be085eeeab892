// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TOKEN_COMMAND_H_
#define VITRINE_CLIENT_TOKEN_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Makes a bearer token of 256 random bits for a caller. Its SHA-256 is appended to the file as a line
// "NAME sha256:<64 hexadecimal digits>", for vitrine-server --tokens; a file that is not there is made, for this user
// alone. The token itself is printed on `out`, a line, and kept nowhere. A name may have several tokens, so that one
// can be replaced while the old one still works.
//
// INVALID_ARGUMENT: a name of other than 1 to 64 letters, digits, '_', '.' and '-'. NOT_FOUND, PERMISSION_DENIED: the
// file cannot be written; then no token was made.
absl::Status MakeToken(const std::string& name, const std::string& file, std::ostream& out);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TOKEN_COMMAND_H_
