// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_TLS_H_
#define VITRINE_COMMON_HTTP_NETWORK_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

typedef struct ssl_ctx_st SSL_CTX;  // NOLINT(modernize-use-using): declared as in OpenSSL

namespace vitrine {

// Credentials of a server, in PEM format.
struct TlsPem {
  std::string certificate;                   // the server's certificate, followed by the intermediate certificates
  std::string key;                           // without a passphrase
  std::string client_ca = {};                // authorities of client certificates; empty: no certificate is requested
  bool client_certificate_optional = false;  // has an effect only with client_ca

  bool operator==(const TlsPem& other) const = default;
};

// An OpenSSL context for connections: TLS 1.2 and 1.3. Thread-safe.
class TlsContext {
 public:
  // Returns INVALID_ARGUMENT with OpenSSL's message if `pem` cannot be used.
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

#endif  // VITRINE_COMMON_HTTP_NETWORK_TLS_H_
