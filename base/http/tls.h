// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_TLS_H_
#define VITRINE_BASE_HTTP_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

typedef struct ssl_ctx_st SSL_CTX;  // NOLINT(modernize-use-using): as OpenSSL declares it

namespace vitrine {

// What a server says who it is with. All PEM.
struct TlsPem {
  std::string certificate;                   // the server's, followed by those between it and its authority
  std::string key;                           // without passphrase
  std::string client_ca = {};                // who vouches for clients; empty: they are not asked for a certificate
  bool client_certificate_optional = false;  // with client_ca

  bool operator==(const TlsPem& other) const = default;
};

// OpenSSL made ready for connections: TLS 1.2 and 1.3. Thread-safe.
class TlsContext {
 public:
  // INVALID_ARGUMENT in OpenSSL's words if it cannot be.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> Make(const TlsPem& pem);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return context_; }

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  SSL_CTX* const context_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_TLS_H_
