// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TLS_FILES_H_
#define VITRINE_SERVER_IDENTITY_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/tls.h"

namespace vitrine {

// TLS from the server's side. Files are PEM.
struct TlsFileOptions {
  // The server's certificate, followed by those between it and its authority. Empty: no TLS.
  std::string certificate = {};
  // Its key, without passphrase; not readable by every user.
  std::string key = {};
  // Authorities that vouch for clients. Empty: clients are not asked for a certificate.
  std::string client_ca = {};
  // With client_ca: a client may also come without a certificate, and say by a token who it is.
  bool client_certificate_optional = false;

  bool enabled() const { return !certificate.empty(); }
};

// What was in the files. Equal is what is the same PEM.
struct TlsMaterial : TlsPem {
  absl::Time expires = absl::InfiniteFuture();  // of the first certificate to expire, of the chain and client_ca
};

// Reads the files; the status names every one that is at fault, a line each. NOT_FOUND, PERMISSION_DENIED,
// FAILED_PRECONDITION, INVALID_ARGUMENT: see guarded_file.h.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFileOptions& options);

// Whether a server can stand on them, and fills in `expires`. INVALID_ARGUMENT names the setting and the file: no PEM;
// a key behind a passphrase or of another certificate; a certificate that is not for servers, not yet or no longer
// valid at `now`; a chain in which one does not vouch for the one before; client_ca with one that is no authority, or
// with none that is valid. Authorities that have expired beside valid ones are passed over, and logged.
absl::Status CheckTls(const TlsFileOptions& options, absl::Time now, TlsMaterial& material);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TLS_FILES_H_
