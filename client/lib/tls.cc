// SPDX-License-Identifier: Apache-2.0
#include "client/lib/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/lib/connect/small_file.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kLargestPem = 1 << 20;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Open(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

absl::Status Wrong(const std::string& file, const char* what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(file, " ", what));
}

absl::StatusOr<Certificate> FirstCertificate(const std::string& file, const std::string& pem) {
  const Bio bio = Open(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  if (certificate == nullptr) return Wrong(file, "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  return certificate;
}

// Rejects an encrypted key, because OpenSSL would prompt for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) {
  return -1;
}

absl::Status CheckPair(const TlsOptions& options, const std::string& certificate_pem, const std::string& key_pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, FirstCertificate(options.certificate_file, certificate_pem));
  const Bio bio = Open(key_pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr), EVP_PKEY_free);
  if (key == nullptr) return Wrong(options.key_file, "holds no private key in PEM form without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(options.key_file, absl::StrCat("is not the key of ", options.certificate_file).c_str());
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return Wrong(options.certificate_file, "has expired; get a new certificate");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& options) {
  grpc::SslCredentialsOptions pem;
  if (!options.ca_file.empty()) {
    ASSIGN_OR_RETURN(pem.pem_root_certs, ReadSmallFile(options.ca_file, kLargestPem));
    RETURN_IF_ERROR(FirstCertificate(options.ca_file, pem.pem_root_certs).status());
  }
  if (!options.certificate_file.empty()) {
    ASSIGN_OR_RETURN(pem.pem_cert_chain, ReadSmallFile(options.certificate_file, kLargestPem));
    ASSIGN_OR_RETURN(pem.pem_private_key, ReadSmallFile(options.key_file, kLargestPem));
    RETURN_IF_ERROR(CheckPair(options, pem.pem_cert_chain, pem.pem_private_key));
  }
  return grpc::SslCredentials(pem);
}

}  // namespace vitrine
