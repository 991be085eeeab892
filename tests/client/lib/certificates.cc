// SPDX-License-Identifier: Apache-2.0
#include "tests/client/lib/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <cstdlib>

namespace vitrine {
namespace {

// Makes a certificate that `authority` signs. If `authority` is empty, makes a self-signed certificate.
void Make(const ScratchFolder& folder, const std::string& name, const std::string& authority,
          const std::string& extra) {
  const std::string sign =
      authority.empty() ? "" : " -CA " + folder.Path(authority + ".pem") + " -CAkey " + folder.Path(authority + ".key");
  const std::string command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2" + sign +
                              " -keyout " + folder.Path(name + ".key") + " -out " + folder.Path(name + ".pem") +
                              " -subj /CN=" + name + extra + " 2>" + folder.Path("openssl.log");
  EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n" << folder.Read("openssl.log");
}

template <typename Read>
auto FromFile(const std::string& path, Read read) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  auto* const result = read(file, nullptr, nullptr, nullptr);
  std::fclose(file);
  return result;
}

}  // namespace

Certificates::Certificates() {
  Make(folder_, "ca", "", "");
  Make(folder_, "server", "ca", " -addext subjectAltName=DNS:vitrine.test");
  Make(folder_, "client", "ca", "");
  Make(folder_, "other", "", "");
  Make(folder_, "stranger", "other", "");
}

void Certificates::MakeExpired() const {
  X509* const certificate = FromFile(Path("client.pem"), PEM_read_X509);
  EVP_PKEY* const key = FromFile(Path("ca.key"), PEM_read_PrivateKey);
  X509_gmtime_adj(X509_getm_notAfter(certificate), -3600);
  EXPECT_GT(X509_sign(certificate, key, EVP_sha256()), 0);
  std::FILE* file = std::fopen(Path("expired.pem").c_str(), "wb");
  EXPECT_EQ(PEM_write_X509(file, certificate), 1);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

std::shared_ptr<grpc::ServerCredentials> Certificates::OfServer(bool client_wanted) const {
  grpc::SslServerCredentialsOptions options(client_wanted ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                          : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = folder_.Read("ca.pem");
  options.pem_key_cert_pairs = {{folder_.Read("server.key"), folder_.Read("server.pem")}};
  return grpc::SslServerCredentials(options);
}

}  // namespace vitrine
