// SPDX-License-Identifier: Apache-2.0
#include "server/identity/tls_files.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/join_faults.h"
#include "common/status_macros.h"
#include "server/identity/guarded_file.h"

namespace vitrine {
namespace {

constexpr char kCertificateFlag[] = "--tls-cert";
constexpr char kKeyFlag[] = "--tls-key";
constexpr char kClientCaFlag[] = "--tls-client-ca";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Open(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

absl::Status Wrong(const char* flag, const std::string& file, const std::string& what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", file, " ", what));
}

// Makes OpenSSL reject a key that has a passphrase; otherwise OpenSSL would ask for the passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) {
  return -1;
}

absl::StatusOr<std::vector<Certificate>> Certificates(const char* flag, const std::string& file,
                                                      const std::string& pem) {
  const Bio bio = Open(pem);
  std::vector<Certificate> certificates;
  for (;;) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
    if (next == nullptr) break;
    certificates.push_back(std::move(next));
  }
  // OpenSSL reports the end of the file as "no start line"; all other errors mean a damaged block.
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type
  const bool damaged = ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (certificates.empty()) return Wrong(flag, file, "contains no PEM certificate (-----BEGIN CERTIFICATE-----)");
  if (damaged) {
    return Wrong(flag, file, absl::StrCat("is damaged after certificate ", certificates.size()));
  }
  return certificates;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::Time ExpiryOf(const Certificate& certificate) {
  return TimeOf(X509_get0_notAfter(certificate.get()));
}

absl::Status CheckDates(const char* flag, const std::string& file, const Certificate& certificate, absl::Time now,
                        absl::Time& expires) {
  const absl::Time from = TimeOf(X509_get0_notBefore(certificate.get()));
  const absl::Time to = ExpiryOf(certificate);
  if (now > to) {
    return Wrong(flag, file,
                 absl::StrCat("expired on ", absl::FormatTime(to, absl::UTCTimeZone()), "; get a new certificate"));
  }
  if (now < from) {
    return Wrong(flag, file,
                 absl::StrCat("is valid only from ", absl::FormatTime(from, absl::UTCTimeZone()),
                              "; check this machine's clock"));
  }
  expires = std::min(expires, to);
  return absl::OkStatus();
}

absl::Status CheckChain(const std::string& file, const std::vector<Certificate>& chain) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const bool issued = X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK &&
                        X509_verify(chain[i].get(), X509_get0_pubkey(chain[i + 1].get())) == 1;
    if (issued) continue;
    return Wrong(kCertificateFlag, file,
                 absl::StrCat("is not a chain: certificate ", i + 2, " did not issue certificate ", i + 1));
  }
  return absl::OkStatus();
}

absl::Status CheckPair(const TlsFileOptions& options, const TlsMaterial& material, const Certificate& certificate) {
  const Bio bio = Open(material.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr), EVP_PKEY_free);
  if (key == nullptr) {
    return Wrong(kKeyFlag, options.key, "contains no PEM private key without a passphrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(kKeyFlag, options.key, absl::StrCat("is not the key of ", options.certificate));
  }
  if (X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Wrong(kCertificateFlag, options.certificate, "is not a server certificate (see its extended key usage)");
  }
  return absl::OkStatus();
}

// Checks the server's certificate chain and key.
absl::Status CheckOwn(const TlsFileOptions& options, absl::Time now, TlsMaterial& material) {
  ASSIGN_OR_RETURN(const std::vector<Certificate> chain,
                   Certificates(kCertificateFlag, options.certificate, material.certificate));
  for (const Certificate& certificate : chain) {
    RETURN_IF_ERROR(CheckDates(kCertificateFlag, options.certificate, certificate, now, material.expires));
  }
  RETURN_IF_ERROR(CheckPair(options, material, chain.front()));
  return CheckChain(options.certificate, chain);
}

// Ignores an expired CA certificate if there are valid CA certificates, because operators often append a new
// certificate and leave the old one in the file.
absl::Status CheckAuthorities(const TlsFileOptions& options, absl::Time now, TlsMaterial& material) {
  ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                   Certificates(kClientCaFlag, options.client_ca, material.client_ca));
  const auto has_expired = [now](const Certificate& authority) { return now > ExpiryOf(authority); };
  const bool some_hold = !std::all_of(authorities.begin(), authorities.end(), has_expired);
  for (size_t i = 0; i < authorities.size(); ++i) {
    if (some_hold && has_expired(authorities[i])) {
      spdlog::warn("tls: certificate {} of {} {} expired on {} and is ignored", i + 1, kClientCaFlag, options.client_ca,
                   absl::FormatTime(ExpiryOf(authorities[i]), absl::UTCTimeZone()));
      continue;
    }
    RETURN_IF_ERROR(CheckDates(kClientCaFlag, options.client_ca, authorities[i], now, material.expires));
    if (X509_check_ca(authorities[i].get()) == 0) {
      return Wrong(kClientCaFlag, options.client_ca,
                   "contains a certificate that is not a CA (CA:TRUE is missing), so it cannot verify clients");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFileOptions& options) {
  TlsMaterial material;
  material.client_certificate_optional = options.client_certificate_optional;
  std::vector<absl::Status> faults;
  const auto read = [&](const char* flag, const std::string& path, Guard guard, std::string& text) {
    absl::StatusOr<std::string> found = ReadGuardedFile(flag, path, guard);
    faults.push_back(found.status());
    if (found.ok()) text = *std::move(found);
  };
  read(kCertificateFlag, options.certificate, Guard::kNoOtherWriters, material.certificate);
  read(kKeyFlag, options.key, Guard::kNoOtherReaders, material.key);
  if (!options.client_ca.empty()) {
    read(kClientCaFlag, options.client_ca, Guard::kNoOtherWriters, material.client_ca);
  }
  RETURN_IF_ERROR(JoinFaults(faults));
  return material;
}

absl::Status CheckTls(const TlsFileOptions& options, absl::Time now, TlsMaterial& material) {
  material.expires = absl::InfiniteFuture();
  const absl::Status own = CheckOwn(options, now, material);
  if (options.client_ca.empty()) return own;
  return JoinFaults({own, CheckAuthorities(options, now, material)});
}

}  // namespace vitrine
