// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SHA256_H_
#define VITRINE_COMMON_SHA256_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // type of OpenSSL

namespace vitrine {

// SHA-256 digest.

using Sha256Digest = std::array<uint8_t, 32>;

Sha256Digest Sha256(std::string_view bytes);

// Returns the digest as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

// Digest of data that arrives in pieces. Movable; not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  void Update(std::string_view bytes);
  // Returns the digest as 64 lower-case hexadecimal digits. Call once, after all updates.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_SHA256_H_
