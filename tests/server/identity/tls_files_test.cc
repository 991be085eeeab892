// SPDX-License-Identifier: Apache-2.0
#include "server/identity/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "server/identity/tls_source.h"
#include "tests/server/identity/authority.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Tls : public ::testing::Test {
 protected:
  Tls() {
    authority_.Issue("server", "DNS:vitrine.test", "serverAuth");
    options_.certificate = authority_.Path("server.pem");
    options_.key = authority_.Path("server.key");
    options_.client_ca = authority_.Path("ca.pem");
  }
  absl::Status Open() const { return TlsSource::Open(options_).status(); }
  // Expects that the start fails, and that the error names the setting, the file and the fault.
  void ExpectRefused(const char* flag, const std::string& file, const char* why) const {
    const absl::Status status = Open();
    EXPECT_FALSE(status.ok()) << flag << " " << file;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(flag), HasSubstr(file), HasSubstr(why)));
  }

  const Authority authority_;
  TlsFileOptions options_;
};

TEST_F(Tls, AcceptsCertificateAndKeyWithTheirAuthority) {
  EXPECT_EQ(Open(), absl::OkStatus());
  options_.client_ca.clear();
  EXPECT_EQ(Open(), absl::OkStatus());
}

TEST_F(Tls, MissingOrUnreadableFilesAreNamed) {
  const TlsFileOptions good = options_;
  options_.certificate = authority_.Path("nowhere.pem");
  ExpectRefused("--tls-cert", options_.certificate, "no such file");
  options_ = good;
  options_.key = authority_.Path("");
  ExpectRefused("--tls-key", options_.key, "not a regular file");
  options_ = good;
  options_.client_ca = authority_.Path("nowhere.pem");
  ExpectRefused("--tls-client-ca", options_.client_ca, "no such file");
  if (geteuid() != 0) {
    options_ = good;
    chmod(options_.key.c_str(), 0);
    ExpectRefused("--tls-key", options_.key, "permission denied");
  }
}

TEST_F(Tls, ErrorNamesEveryInvalidFile) {
  options_.client_ca = authority_.Path("nowhere.pem");
  chmod(options_.key.c_str(), 0644);
  ExpectRefused("--tls-client-ca", options_.client_ca, "no such file");
  ExpectRefused("--tls-key", options_.key, "every user");
  chmod(options_.key.c_str(), 0600);
  options_.client_ca = options_.certificate;
  authority_.Write("noise.key", "hello");
  options_.key = authority_.Path("noise.key");
  chmod(options_.key.c_str(), 0600);
  ExpectRefused("--tls-client-ca", options_.client_ca, "not a CA");
  ExpectRefused("--tls-key", options_.key, "no PEM private key");
}

TEST_F(Tls, AKeyReadableByEveryUserIsRefused) {
  for (const mode_t mode : {0644, 0604, 0602, 0601}) {
    chmod(options_.key.c_str(), mode);
    ExpectRefused("--tls-key", options_.key, "every user");
  }
  chmod(options_.key.c_str(), 0640);  // group-readable, as Kubernetes makes it with fsGroup
  EXPECT_EQ(Open(), absl::OkStatus());
}

TEST_F(Tls, FilesWithoutPemDataAreRefused) {
  const TlsFileOptions good = options_;
  authority_.Write("noise.pem", "hello");
  authority_.Write("empty.pem", "");
  authority_.Write("cut.pem", authority_.Read("server.pem").substr(0, 300));
  chmod(authority_.Path("noise.pem").c_str(), 0600);
  options_.certificate = authority_.Path("noise.pem");
  ExpectRefused("--tls-cert", "noise.pem", "contains no PEM certificate");
  options_.certificate = authority_.Path("empty.pem");
  ExpectRefused("--tls-cert", "empty.pem", "is empty");
  options_.certificate = authority_.Path("cut.pem");
  ExpectRefused("--tls-cert", "cut.pem", "contains no PEM certificate");
  options_ = good;
  options_.key = authority_.Path("noise.pem");
  ExpectRefused("--tls-key", "noise.pem", "contains no PEM private key");
  authority_.Write("damaged.pem", authority_.Read("ca.pem") + authority_.Read("ca.pem").substr(0, 200));
  options_ = good;
  options_.client_ca = authority_.Path("damaged.pem");
  ExpectRefused("--tls-client-ca", "damaged.pem", "damaged after certificate 1");
}

TEST_F(Tls, ExpiredOrNotYetValidCertificatesAreRefused) {
  authority_.Issue("expired", "DNS:vitrine.test", "serverAuth", -1);
  options_.certificate = authority_.Path("expired.pem");
  options_.key = authority_.Path("expired.key");
  ExpectRefused("--tls-cert", "expired.pem", "expired on");
  options_.certificate = authority_.Path("server.pem");
  options_.key = authority_.Path("server.key");
  TlsMaterial material = *ReadTlsFiles(options_);
  EXPECT_EQ(CheckTls(options_, absl::Now(), material), absl::OkStatus());
  EXPECT_LT(material.expires, absl::Now() + absl::Hours(49));
  material.expires = absl::InfinitePast();
  EXPECT_EQ(CheckTls(options_, absl::Now(), material), absl::OkStatus());
  EXPECT_GT(material.expires, absl::Now()) << "of these files, whatever was there before";
  EXPECT_THAT(std::string(CheckTls(options_, absl::Now() - absl::Hours(48), material).message()),
              HasSubstr("is valid only from"));
}

TEST_F(Tls, AKeyOfAnotherCertificateIsRefused) {
  authority_.Issue("other", "DNS:vitrine.test", "serverAuth");
  options_.key = authority_.Path("other.key");
  ExpectRefused("--tls-key", "other.key", "is not the key of");
}

TEST_F(Tls, ACertificateForClientsIsRefused) {
  authority_.Issue("client", "", "clientAuth");
  options_.certificate = authority_.Path("client.pem");
  options_.key = authority_.Path("client.key");
  ExpectRefused("--tls-cert", "client.pem", "not a server certificate");
}

// Operators append new authorities to a CA file, so an expired authority may remain in the file.
TEST_F(Tls, AnExpiredAuthorityDoesNotBlockTheOthers) {
  spdlog::set_level(spdlog::level::off);
  authority_.IssueAuthority("old", -1);
  const std::string old = authority_.Read("old.pem");
  authority_.Write("clients.pem", old + authority_.Read("ca.pem"));
  options_.client_ca = authority_.Path("clients.pem");
  const absl::StatusOr<std::shared_ptr<TlsSource>> source = TlsSource::Open(options_);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_GT((*source)->expires(), absl::Now()) << "nor is it what expires next";
  const std::shared_ptr<const TlsPem> first = (*source)->Pem();
  authority_.Issue("next", "DNS:vitrine.test", "serverAuth");
  authority_.Write("server.pem", authority_.Read("next.pem"));
  authority_.Write("server.key", authority_.Read("next.key"));
  (*source)->Reread().IgnoreError();
  EXPECT_NE((*source)->Pem(), first) << "a rotation goes on";
  authority_.Write("clients.pem", old + old);
  ExpectRefused("--tls-client-ca", "clients.pem", "expired on");
}

TEST_F(Tls, EachCertificateOfAChainMustIssueThePrevious) {
  authority_.IssueAuthority("between");
  authority_.Issue("leaf", "DNS:vitrine.test", "serverAuth", 2, "between");
  options_.key = authority_.Path("leaf.key");
  options_.certificate = authority_.Path("chain.pem");
  authority_.Write("chain.pem", authority_.Read("leaf.pem") + authority_.Read("between.pem"));
  EXPECT_EQ(Open(), absl::OkStatus());
  authority_.Write("chain.pem",
                   authority_.Read("leaf.pem") + authority_.Read("between.pem") + authority_.Read("ca.pem"));
  EXPECT_EQ(Open(), absl::OkStatus()) << "to the root";
  const Authority stranger;
  authority_.Write("chain.pem", authority_.Read("leaf.pem") + authority_.Read("between.pem") + stranger.Read("ca.pem"));
  ExpectRefused("--tls-cert", "chain.pem", "certificate 3 did not issue certificate 2");
  authority_.Write("chain.pem", authority_.Read("leaf.pem") + stranger.Read("ca.pem"));
  ExpectRefused("--tls-cert", "chain.pem", "certificate 2 did not issue certificate 1");
}

TEST_F(Tls, RereadsValidPairsAndIgnoresInvalidOnes) {
  spdlog::set_level(spdlog::level::off);
  const std::shared_ptr<TlsSource> source = *TlsSource::Open(options_);
  const std::shared_ptr<const TlsPem> first = source->Pem();
  source->Reread().IgnoreError();
  EXPECT_EQ(source->Pem(), first) << "nothing has changed";

  authority_.Issue("next", "DNS:vitrine.test", "serverAuth", 3);
  authority_.Write("server.pem", authority_.Read("next.pem"));
  source->Reread().IgnoreError();
  EXPECT_EQ(source->Pem(), first) << "the key is still the old one";
  authority_.Write("server.key", authority_.Read("next.key"));
  source->Reread().IgnoreError();
  const std::shared_ptr<const TlsPem> second = source->Pem();
  EXPECT_NE(second, first);
  EXPECT_GT(source->expires(), absl::Now() + absl::Hours(47));

  authority_.Write("server.pem", authority_.Read("next.pem").substr(0, 100));
  source->Reread().IgnoreError();
  unlink(options_.key.c_str());
  source->Reread().IgnoreError();
  EXPECT_EQ(source->Pem(), second) << "half a file, and a file that is gone, change nothing";
}

}  // namespace
}  // namespace vitrine::testing
