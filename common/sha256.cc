// SPDX-License-Identifier: Apache-2.0
#include "common/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "common/failed_allocation.h"

namespace vitrine {
namespace {

// Handles a failed OpenSSL call as a failed allocation: the calls in this file fail only if memory runs out.
void Demand(bool done) {
  if (!done) FailAllocation();
}

std::string HexOf(const Sha256Digest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  Sha256Digest digest;
  Demand(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string Sha256Hex(std::string_view bytes) {
  return HexOf(Sha256(bytes));
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  Demand(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256Stream::Update(std::string_view bytes) {
  Demand(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256Stream::Hex() {
  Sha256Digest digest;
  Demand(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  return HexOf(digest);
}

void Sha256Stream::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

}  // namespace vitrine
