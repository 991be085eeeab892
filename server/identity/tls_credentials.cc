// SPDX-License-Identifier: Apache-2.0
#include "server/identity/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// The log says so from here on, once for each certificate.
constexpr absl::Duration kExpiresSoon = absl::Hours(7 * 24);

}  // namespace

// SSL credentials of gRPC's core whose certificate is asked for at each new connection, on the thread that hands the
// connection over, which is one for a listener.
class RotatingCredentials final : public grpc::ServerCredentials {
 public:
  explicit RotatingCredentials(std::shared_ptr<TlsSource> source) : source_(std::move(source)) {
    const TlsFileOptions& options = source_->options_;
    const grpc_ssl_client_certificate_request_type asks =
        options.client_ca.empty()             ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
        : options.client_certificate_optional ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                              : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(asks, &RotatingCredentials::Fetch, this));
  }
  ~RotatingCredentials() override { grpc_server_credentials_release(credentials_); }

  // The check of each call stands in the calls.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<RotatingCredentials*>(self)->Fetch(config);
  }

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    MutexLock lock(mutex_);
    const std::shared_ptr<const TlsPem> material = source_->Pem();
    if (std::exchange(given_, material) == material) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    grpc_ssl_pem_key_cert_pair pair = {.private_key = material->key.c_str(),
                                       .cert_chain = material->certificate.c_str()};
    // gRPC 1.51 aborts without authorities even where no client is asked for a certificate; there nobody looks at them.
    const std::string& authorities = material->client_ca.empty() ? material->certificate : material->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<TlsSource> source_;
  grpc_server_credentials* credentials_ = nullptr;
  Mutex mutex_;
  std::shared_ptr<const TlsPem> given_ ABSL_GUARDED_BY(mutex_);  // what gRPC has; null at first
};

absl::StatusOr<std::shared_ptr<TlsSource>> TlsSource::Open(const TlsFileOptions& options) {
  ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsFiles(options));
  RETURN_IF_ERROR(CheckTls(options, absl::Now(), material));
  std::shared_ptr<TlsSource> source(new TlsSource(options));
  MutexLock lock(source->mutex_);
  source->current_ = std::make_shared<const TlsMaterial>(std::move(material));
  return source;
}

void TlsSource::Refresh() {
  absl::StatusOr<TlsMaterial> found = ReadTlsFiles(options_);
  MutexLock lock(mutex_);
  absl::Status status = found.status();
  if (found.ok() && !(*found == *current_)) {
    status = CheckTls(options_, absl::Now(), *found);
    if (status.ok()) {
      current_ = std::make_shared<const TlsMaterial>(*std::move(found));
      said_expiry_ = false;
      spdlog::info("tls: a new certificate serves expires={}",
                   absl::FormatTime(current_->expires, absl::UTCTimeZone()));
    }
  }
  const std::string fault(status.message());
  if (!fault.empty() && fault != last_fault_) spdlog::error("tls: {}; the certificate before it serves on", fault);
  last_fault_ = fault;
  if (current_->expires - absl::Now() < kExpiresSoon && !std::exchange(said_expiry_, true)) {
    spdlog::warn("tls: the certificate that serves expires at {}",
                 absl::FormatTime(current_->expires, absl::UTCTimeZone()));
  }
}

absl::Time TlsSource::expires() const {
  MutexLock lock(mutex_);
  return current_->expires;
}

std::shared_ptr<const TlsPem> TlsSource::Pem() const {
  MutexLock lock(mutex_);
  return current_;
}

std::shared_ptr<grpc::ServerCredentials> TlsSource::Credentials(std::shared_ptr<TlsSource> source) {
  return std::make_shared<RotatingCredentials>(std::move(source));
}

}  // namespace vitrine
