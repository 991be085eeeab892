// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_IDENTITY_MADE_CALLS_H_
#define VITRINE_TESTS_SERVER_IDENTITY_MADE_CALLS_H_

#include <openssl/sha.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/identity/authorization.h"

namespace vitrine::testing {

inline constexpr RpcName kClassify = "/vitrine.v1.Classifier/Classify";
inline constexpr RpcName kLoad = "/vitrine.v1.Admin/LoadModel";

inline const std::string kSecret = "vitrine_0123456789abcdefghijklmnopqrstuvwxyz";

// Returns the SHA-256 digest of a secret in hexadecimal, as the token file needs it.
inline std::string HexOf(const std::string& secret) {
  unsigned char digest[32];
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest);
  return absl::BytesToHexString(std::string(reinterpret_cast<char*>(digest), sizeof(digest)));
}

inline std::string TokenLine(const std::string& name, const std::string& secret) {
  return absl::StrCat(name, " sha256:", HexOf(secret), "\n");
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_IDENTITY_MADE_CALLS_H_
