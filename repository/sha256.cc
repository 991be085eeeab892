// SPDX-License-Identifier: Apache-2.0
#include "repository/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

#include "absl/strings/escaping.h"

namespace vitrine {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  // OpenSSL fails here only when memory is exhausted or SHA-256 is missing; no caller could go on without it.
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) != 1) std::abort();
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest), length});
}

}  // namespace vitrine
