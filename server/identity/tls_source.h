// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_
#define VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/network/tls.h"
#include "common/mutex.h"
#include "server/identity/tls_files.h"

namespace vitrine {

// The certificate for new connections. Changed files replace the old certificate once they pass the checks of Open.
// During a rotation, the key may briefly not match the certificate; the old certificate then stays in use, so no
// handshake fails. Thread-safe.
class TlsSource {
 public:
  // Reads and checks the files; see ReadTlsFiles and CheckTls.
  static absl::StatusOr<std::shared_ptr<TlsSource>> Open(const TlsFileOptions& options);

  // Reads the files again. Valid files replace the old certificate. Faulty files are not used, and their faults are
  // returned.
  absl::Status Reread();

  // Returns the earliest expiry of the current certificate chain and the client CAs.
  absl::Time expires() const;

  // Returns the current certificate; returns the same object until the certificate changes.
  std::shared_ptr<const TlsPem> Pem() const;

 private:
  explicit TlsSource(TlsFileOptions options) : options_(std::move(options)) {}

  const TlsFileOptions options_;
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> current_ ABSL_GUARDED_BY(mutex_);
  bool said_expiry_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_
