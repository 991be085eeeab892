// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_
#define VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/tls.h"
#include "base/mutex.h"
#include "server/identity/tls_files.h"

namespace vitrine {

// The certificate that new connections get, which changes when the files do: once the new ones have passed every check
// of the start. A key that does not go with its certificate, as there is for a moment in every rotation, ends no
// handshake. Thread-safe.
class TlsSource {
 public:
  // Reads and checks; see ReadTlsFiles and CheckTls.
  static absl::StatusOr<std::shared_ptr<TlsSource>> Open(const TlsFileOptions& options);

  // Looks at the files. What is new and right is taken; what is new and wrong is logged once and left, and is the
  // status.
  absl::Status Reread();

  // When the certificate that serves now, or an authority of the clients, expires.
  absl::Time expires() const;

  // Returns the certificate that serves now: the same object until it changes.
  std::shared_ptr<const TlsPem> Pem() const;

 private:
  explicit TlsSource(TlsFileOptions options) : options_(std::move(options)) {}

  const TlsFileOptions options_;
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> current_ ABSL_GUARDED_BY(mutex_);
  std::string last_fault_ ABSL_GUARDED_BY(mutex_);  // so that it is logged once
  bool said_expiry_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TLS_SOURCE_H_
