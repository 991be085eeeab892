// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TLS_FILES_H_
#define VITRINE_SERVER_IDENTITY_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/network/tls.h"

namespace vitrine {

// TLS settings of the server. Files are PEM.
struct TlsFileOptions {
  // The server's certificate, then its intermediate certificates. Empty: no TLS.
  std::string certificate = {};
  // The certificate's key, without passphrase; must not be readable by every user.
  std::string key = {};
  // CA certificates that sign client certificates. Empty: client certificates are not requested.
  std::string client_ca = {};
  // With client_ca: a client may send a token instead of a certificate.
  bool client_certificate_optional = false;

  bool enabled() const { return !certificate.empty(); }
};

// Content of the files. Equality compares only the PEM text, not `expires`.
struct TlsMaterial : TlsPem {
  absl::Time expires = absl::InfiniteFuture();  // earliest expiry in the chain and client_ca
};

// Reads the files. An error has one line per faulty file. NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION,
// INVALID_ARGUMENT: see guarded_file.h.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFileOptions& options);

// Checks that a server can use the files, and sets `expires`. INVALID_ARGUMENT names the setting and the file. Errors
// are: text that is not PEM; a key that has a passphrase or belongs to another certificate; a certificate that is not
// for servers or not valid at `now`; a chain with a broken link; a client_ca with a non-CA certificate or without a
// valid certificate. An expired CA certificate is logged and ignored if there are valid CA certificates.
absl::Status CheckTls(const TlsFileOptions& options, absl::Time now, TlsMaterial& material);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TLS_FILES_H_
