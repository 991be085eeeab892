// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_TLS_CLIENT_H_
#define VITRINE_TESTS_COMMON_TLS_CLIENT_H_

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/common/http1_client.h"

namespace vitrine {

// A certificate with its key. The issuer is the certificate itself or a CA.
struct Certified {
  Certified(const std::string& name, const Certified* issuer, int seconds = 3600) {
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(certificate.get(),
                         issuer == nullptr ? subject : X509_get_subject_name(issuer->certificate.get()));
    if (issuer == nullptr) {
      X509_EXTENSION* is_ca = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      X509_add_ext(certificate.get(), is_ca, -1);
      X509_EXTENSION_free(is_ca);
    }
    EXPECT_GT(X509_sign(certificate.get(), (issuer == nullptr ? *this : *issuer).key.get(), EVP_sha256()), 0);
  }

  // Returns the PEM text of the certificate or of the key.
  std::string Pem(bool of_key) const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    if (of_key) {
      PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    } else {
      PEM_write_bio_X509(bio.get(), certificate.get());
    }
    const char* text = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<size_t>(size)};
  }

  std::unique_ptr<X509, decltype(&X509_free)> certificate{X509_new(), &X509_free};
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), &EVP_PKEY_free};
};

// A TLS connection with a blocking socket. Configure it with `tls` before Connect.
class TlsClient {
 public:
  explicit TlsClient(const std::string& address) : owned_(std::in_place, address), socket_(owned_->descriptor()) {}
  explicit TlsClient(int socket) : socket_(socket) {}

  void Present(const Certified& certified) {
    SSL_use_certificate(tls(), certified.certificate.get());
    SSL_use_PrivateKey(tls(), certified.key.get());
  }
  bool Connect() { return SSL_connect(tls()) == 1; }
  void Send(const std::string& bytes) { (void)SSL_write(tls(), bytes.data(), static_cast<int>(bytes.size())); }
  // Reads until the received bytes end with `end`, or the server closes the connection.
  std::string ReadUntil(const std::string& end) {
    std::string all;
    char bytes[4096];
    for (int got = 1; got > 0 && !all.ends_with(end); all.append(bytes, static_cast<size_t>(got > 0 ? got : 0))) {
      got = SSL_read(tls(), bytes, sizeof(bytes));
    }
    return all;
  }
  // Returns the protocol that the server has chosen by ALPN from `offered` (each name after a byte with its length).
  std::string Negotiate(const std::string& offered) {
    SSL_set_alpn_protos(tls(), reinterpret_cast<const unsigned char*>(offered.data()),
                        static_cast<unsigned>(offered.size()));
    EXPECT_TRUE(Connect());
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(tls(), &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
  }
  SSL* tls() {
    if (tls_ == nullptr) {
      tls_.reset(SSL_new(context_.get()));
      SSL_set_fd(tls_.get(), socket_);
    }
    return tls_.get();
  }

 private:
  const std::optional<Http1Client> owned_;
  const int socket_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, &SSL_free};
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_TLS_CLIENT_H_
