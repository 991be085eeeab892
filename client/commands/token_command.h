// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_TOKEN_COMMAND_H_
#define VITRINE_CLIENT_COMMANDS_TOKEN_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Returns INVALID_ARGUMENT unless the name has 1 to 64 characters, each a letter, a digit, '_', '.' or '-'.
absl::Status CheckTokenName(const std::string& name);

// Creates a bearer token of 256 random bits for a client. Appends its SHA-256 to the file as a line "NAME sha256:<64
// hexadecimal digits>", for vitrine-server --tokens. A missing file is created, readable only by this user. Prints the
// token to `out` as one line and does not store it. A name may have several tokens, so that a token can be replaced
// while the old one is still valid.
//
// INVALID_ARGUMENT: see CheckTokenName. Errors of FileError: the file cannot be written; if the token was already
// printed, it is not valid. UNAVAILABLE: `out` cannot be written; the file is unchanged, or new and empty.
absl::Status MakeToken(const std::string& name, const std::string& file, std::ostream& out);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_TOKEN_COMMAND_H_
