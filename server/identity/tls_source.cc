// SPDX-License-Identifier: Apache-2.0
#include "server/identity/tls_source.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "server/observe/log.h"

namespace vitrine {
namespace {

// Remaining validity at which a warning is logged, once per certificate.
constexpr absl::Duration kExpiresSoon = absl::Hours(7 * 24);

}  // namespace

absl::StatusOr<std::shared_ptr<TlsSource>> TlsSource::Open(const TlsFileOptions& options) {
  ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsFiles(options));
  RETURN_IF_ERROR(CheckTls(options, absl::Now(), material));
  std::shared_ptr<TlsSource> source(new TlsSource(options));
  MutexLock lock(source->mutex_);
  source->current_ = std::make_shared<const TlsMaterial>(std::move(material));
  return source;
}

absl::Status TlsSource::Reread() {
  absl::StatusOr<TlsMaterial> found = ReadTlsFiles(options_);
  MutexLock lock(mutex_);
  absl::Status status = found.status();
  if (found.ok() && !(*found == *current_)) {
    status = CheckTls(options_, absl::Now(), *found);
    if (status.ok()) {
      current_ = std::make_shared<const TlsMaterial>(*std::move(found));
      said_expiry_ = false;
      Log(LogLevel::kInfo, "new TLS files in use",
          {{"expires", absl::FormatTime(current_->expires, absl::UTCTimeZone())}});
    }
  }
  if (current_->expires - absl::Now() < kExpiresSoon && !std::exchange(said_expiry_, true)) {
    Log(LogLevel::kWarning, "the certificate chain, or a CA of --tls-client-ca, expires soon",
        {{"expires", absl::FormatTime(current_->expires, absl::UTCTimeZone())}});
  }
  return status;
}

absl::Time TlsSource::expires() const {
  MutexLock lock(mutex_);
  return current_->expires;
}

std::shared_ptr<const TlsPem> TlsSource::Pem() const {
  MutexLock lock(mutex_);
  return current_;
}

}  // namespace vitrine
