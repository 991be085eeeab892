// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TLS_FILES_H_
#define VITRINE_SERVER_IDENTITY_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/network/tls.h"

namespace vitrine {

// Server-side TLS settings. Files are PEM.
struct TlsFileOptions {
  // The server's certificate, followed by its intermediate certificates. Empty: no TLS.
  std::string certificate = {};
  // Its key, without passphrase; must not be readable by every user.
  std::string key = {};
  // CA certificates for client certificates. Empty: clients are not asked for a certificate.
  std::string client_ca = {};
  // With client_ca: a client may also connect without a certificate and send a token instead.
  bool client_certificate_optional = false;

  bool enabled() const { return !certificate.empty(); }
};

// Content of the files. Equality compares only the PEM text, not `expires`.
struct TlsMaterial : TlsPem {
  absl::Time expires = absl::InfiniteFuture();  // earliest expiry in the chain and client_ca
};

// Reads the files; the error has a line for every faulty file. NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION,
// INVALID_ARGUMENT: see guarded_file.h.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFileOptions& options);

// Checks that a server can use the files, and sets `expires`. INVALID_ARGUMENT names the setting and the file: not PEM;
// a key with a passphrase or of another certificate; a certificate that is not for servers, or not valid at `now`; a
// chain with a broken link; client_ca with a certificate that is no CA, or without a valid one. Expired CA certificates
// beside valid ones are ignored, and logged.
absl::Status CheckTls(const TlsFileOptions& options, absl::Time now, TlsMaterial& material);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TLS_FILES_H_
