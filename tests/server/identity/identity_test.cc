// SPDX-License-Identifier: Apache-2.0
#include "server/identity/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/scratch_folder.h"
#include "tests/server/identity/made_calls.h"
#include "tests/server/logged.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr RpcName kCheck = "/grpc.health.v1.Health/Check";

Credentials Bearer(const std::string& secret) {
  return {.authorization = "Bearer " + secret};
}

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() {
    spdlog::set_level(spdlog::level::off);
    options_.reread_interval = absl::Hours(1);  // the tests call Reread
  }
  void WithTokens(const std::string& text) { options_.tokens = Replace("tokens", text); }
  void WithPolicy(const std::string& text) { options_.policy = Replace("policy", text); }
  // Replaces a file atomically; otherwise the thread of Identity could read the file while it is still empty.
  std::string Replace(const std::string& name, const std::string& text) const {
    std::filesystem::rename(folder_.Write(name + ".new", text), folder_.Path(name));
    return folder_.Path(name);
  }
  std::unique_ptr<Identity> Open() const {
    absl::StatusOr<std::unique_ptr<Identity>> identity = Identity::Open(options_);
    EXPECT_TRUE(identity.ok()) << identity.status();
    return *std::move(identity);
  }
  static absl::StatusCode Ask(const Identity& identity, RpcName rpc, const Credentials& credentials) {
    return identity.Authorize(rpc, credentials).status().code();
  }

  const ScratchFolder folder_;
  IdentityOptions options_;
};

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kUnauthenticated = absl::StatusCode::kUnauthenticated;
constexpr auto kDenied = absl::StatusCode::kPermissionDenied;

TEST_F(IdentityTest, WithoutCredentialFilesOnlyAdminCallsAreDenied) {
  const auto identity = Open();
  EXPECT_FALSE(identity->enabled());
  EXPECT_EQ(Ask(*identity, kClassify, {}), kOk);
  EXPECT_EQ(Ask(*identity, kClassify, Bearer("whatever")), kOk) << "a client may send a token to any server";
  EXPECT_EQ(Ask(*identity, kLoad, {}), kDenied);
  EXPECT_EQ(Ask(*identity, kLoad, {.on_admin_listener = true}), kOk);
  EXPECT_EQ(identity->Authorize(kClassify, {})->name, "anonymous");
}

TEST_F(IdentityTest, MissingOrWrongTokensAreUnauthenticated) {
  WithTokens(TokenLine("ci", kSecret));
  const auto identity = Open();
  EXPECT_TRUE(identity->enabled());
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kOk);
  EXPECT_EQ(Ask(*identity, kClassify, {.authorization = "bearer   " + kSecret + " "}), kOk);
  EXPECT_EQ(identity->Authorize(kClassify, Bearer(kSecret))->name, "token:ci");
  for (const Credentials& wrong :
       {Credentials(), Bearer(""), Bearer(kSecret + "x"), Bearer(kSecret.substr(0, 40)),
        Credentials{.authorization = kSecret}, Credentials{.authorization = "Basic " + kSecret},
        Credentials{.authorization = ""}}) {
    EXPECT_EQ(Ask(*identity, kClassify, wrong), kUnauthenticated) << wrong.authorization.value_or("none");
    EXPECT_EQ(Ask(*identity, kCheck, wrong), kOk) << "probes carry nothing";
  }
  EXPECT_EQ(Ask(*identity, kClassify, {.authorization = "Bearer nonsense", .certificate_names = {"DNS"}}),
            kUnauthenticated)
      << "a certificate does not make up for a wrong token";
}

TEST_F(IdentityTest, WithoutAPolicyOnlySocketUsersMayCallAdmin) {
  WithTokens(TokenLine("ci", kSecret));
  const auto identity = Open();
  Credentials token = Bearer(kSecret);
  token.on_admin_listener = true;
  EXPECT_EQ(Ask(*identity, kLoad, token), kDenied);
  EXPECT_EQ(CallerOf(identity->Authorize(kLoad, token)).name, "token:ci") << "who was refused is known";
  EXPECT_EQ(CallerOf(identity->Authorize(kLoad, Bearer("wrong"))).name, "anonymous");
  EXPECT_EQ(Ask(*identity, kLoad, {.on_admin_listener = true}), kUnauthenticated);
  EXPECT_EQ(Ask(*identity, kLoad, {.uid = 0, .on_admin_listener = true}), kOk);
  EXPECT_EQ(identity->Authorize(kLoad, {.uid = 7, .on_admin_listener = true})->name, "uid:7");
}

TEST_F(IdentityTest, APolicyReplacesTheDefaultRights) {
  WithTokens(TokenLine("ci", kSecret) + TokenLine("ops", kSecret + "ops"));
  WithPolicy(R"(roles { name: "all" methods: "/vitrine.v1.Admin/*" methods: "/vitrine.v1.Classifier/*" models: "m*" }
                callers { token: "ops" roles: "all" quota { max_in_flight: 3 } })");
  const auto identity = Open();
  EXPECT_EQ(Ask(*identity, kLoad, Bearer(kSecret + "ops")), kOk);
  EXPECT_EQ(Ask(*identity, kLoad, Bearer(kSecret)), kDenied);
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kDenied) << "no entry: nothing is allowed";
  EXPECT_EQ(Ask(*identity, kLoad, {.uid = 0, .on_admin_listener = true}), kDenied) << "the policy names no user";
  EXPECT_EQ(Ask(*identity, kClassify, {}), kUnauthenticated);
  const absl::StatusOr<Caller> ops = identity->Authorize(kClassify, Bearer(kSecret + "ops"));
  ASSERT_TRUE(ops.ok());
  EXPECT_EQ(ops->quota->max_in_flight, 3);
  EXPECT_EQ(CheckModel(*ops, "mini"), absl::OkStatus());
  EXPECT_EQ(CheckModel(*ops, "other").code(), kDenied);
}

TEST_F(IdentityTest, ErrorsDoNotContainCredentials) {
  WithTokens(TokenLine("ci", kSecret));
  WithPolicy(R"(callers { token: "nobody" })");
  const auto identity = Open();
  for (const std::string& secret : {kSecret, kSecret + "wrong"}) {
    EXPECT_THAT(std::string(identity->Authorize(kClassify, Bearer(secret)).status().message()),
                AllOf(Not(HasSubstr("0123456789")), Not(HasSubstr("wrong"))));
  }
}

TEST_F(IdentityTest, RereadsFilesAndKeepsTheOldOnesOnErrors) {
  WithTokens(TokenLine("ci", kSecret));
  const auto identity = Open();
  WithTokens(TokenLine("ci", kSecret) + TokenLine("ops", kSecret + "ops"));
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kOk);
  WithTokens("ci " + kSecret);
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kOk);
  std::filesystem::remove(options_.tokens);
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kOk);
  WithTokens(TokenLine("ops", kSecret + "ops"));
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kUnauthenticated) << "a token that was taken away";
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kOk);
}

TEST_F(IdentityTest, AnEarlierRereadDoesNotRestoreRemovedTokens) {
  WithTokens(TokenLine("ci", kSecret));
  const auto identity = Open();
  std::atomic<bool> end = false;
  std::vector<std::thread> lookers;
  for (int i = 0; i < 3; ++i) {
    lookers.emplace_back([&] {
      while (!end) identity->Reread().IgnoreError();
    });
  }
  int brought_back = 0;
  for (int round = 0; round < 50; ++round) {
    const std::string secret = kSecret + std::to_string(round);
    WithTokens(TokenLine("ci", secret));
    identity->Reread().IgnoreError();
    for (int ask = 0; ask < 20; ++ask) {
      std::this_thread::yield();
      brought_back += Ask(*identity, kClassify, Bearer(secret)) == kOk ? 0 : 1;
    }
  }
  end = true;
  for (std::thread& looker : lookers) looker.join();
  EXPECT_EQ(brought_back, 0);
}

TEST_F(IdentityTest, TheLastTokenCanBeRemoved) {
  WithTokens(TokenLine("ci", kSecret));
  const auto identity = Open();
  for (const char* none : {"# nobody\n", ""}) {
    WithTokens(TokenLine("ci", kSecret));
    EXPECT_EQ(identity->Reread(), absl::OkStatus());
    EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kOk);
    const std::string log = Logged("warning", "text", [&] {
      WithTokens(none);
      EXPECT_EQ(identity->Reread(), absl::OkStatus());
    });
    EXPECT_THAT(log, HasSubstr(" warning the file of --tokens has no token: no token is valid"));
    EXPECT_THAT(identity->faults(), IsEmpty()) << "it is in effect";
    EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kUnauthenticated) << none;
    EXPECT_EQ(Ask(*identity, kClassify, {}), kUnauthenticated) << "no token is no open door";
    EXPECT_THAT(std::string(Identity::Open(options_).status().message()), HasSubstr("no line contains a token"))
        << "but a server does not begin so";
  }
}

TEST_F(IdentityTest, ABrokenFileDoesNotBlockTheOther) {
  const std::string policy = R"(roles { name: "r" methods: "/vitrine.v1.Classifier/*" }
                                callers { authenticated: true roles: "r" })";
  WithTokens(TokenLine("ci", kSecret) + TokenLine("ops", kSecret + "ops"));
  WithPolicy(policy);
  const auto identity = Open();
  WithPolicy("nonsense");
  WithTokens(TokenLine("ops", kSecret + "ops"));
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret)), kUnauthenticated) << "revoked in spite of the policy";
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kOk) << "the policy before holds on";
  EXPECT_EQ(Ask(*identity, kLoad, Bearer(kSecret + "ops")), kDenied);
  WithTokens("nonsense");
  WithPolicy(R"(callers { token: "ops" })");
  identity->Reread().IgnoreError();
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "ops")), kDenied) << "a right is taken away all the same";
}

TEST_F(IdentityTest, EachFaultyFileIsReportedAndLoggedOnce) {
  const std::string policy = R"(callers { token: "ci" })";
  WithTokens(TokenLine("ci", kSecret));
  WithPolicy(policy);
  const auto identity = Open();
  EXPECT_THAT(identity->faults(), IsEmpty());
  // Identity checks its files in a thread of its own, which may log the fault before this test calls Reread. So the
  // file is written within Logged, which captures the log.
  const std::string one = Logged("info", "json", [&] {
    WithPolicy("nonsense");
    identity->Reread().IgnoreError();
  });
  EXPECT_THAT(one, AllOf(HasSubstr(R"("level":"error","message":"a settings file is rejected, its previous content )"
                                   R"(stays in effect","fault":"--policy )"),
                         Not(HasSubstr("--tokens"))));
  ASSERT_THAT(identity->faults(), SizeIs(1));
  EXPECT_THAT(std::string(identity->faults()[0].message()), StartsWith("--policy " + options_.policy));
  const std::string other = Logged("info", "text", [&] {
    WithTokens("ci " + kSecret);
    identity->Reread().IgnoreError();
  });
  EXPECT_THAT(other, AllOf(HasSubstr("--tokens"), Not(HasSubstr("--policy")), Not(HasSubstr(kSecret))));
  EXPECT_THAT(identity->faults(), SizeIs(2));
  EXPECT_EQ(Logged("info", "text", [&] { identity->Reread().IgnoreError(); }), "");
  WithTokens(TokenLine("ci", kSecret));
  WithPolicy(policy);
  EXPECT_EQ(identity->Reread(), absl::OkStatus());
  EXPECT_THAT(identity->faults(), IsEmpty());
}

TEST_F(IdentityTest, FilesAreRereadPeriodically) {
  WithTokens(TokenLine("ci", kSecret));
  options_.reread_interval = absl::Milliseconds(5);
  const auto identity = Open();
  WithTokens(TokenLine("ci", kSecret + "new"));
  const absl::Time end = absl::Now() + absl::Seconds(20);
  while (Ask(*identity, kClassify, Bearer(kSecret + "new")) != kOk && absl::Now() < end)
    absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Ask(*identity, kClassify, Bearer(kSecret + "new")), kOk);
}

TEST_F(IdentityTest, ErrorNamesEveryInvalidFile) {
  WithTokens("nonsense");
  WithPolicy("nonsense");
  options_.tls.certificate = folder_.Path("no.pem");
  options_.tls.key = folder_.Path("no.key");
  const std::string why(Identity::Open(options_).status().message());
  EXPECT_THAT(why, AllOf(HasSubstr(options_.tokens), HasSubstr(options_.policy), HasSubstr(options_.tls.certificate)));
  WithTokens(TokenLine("ci", kSecret));
  chmod(options_.tokens.c_str(), 0666);
  EXPECT_THAT(std::string(Identity::Open(options_).status().message()), HasSubstr("written by every user"));
}

TEST(IdentityOptions, RefusesTokensOnPlaintextNetworkListeners) {
  IdentityOptions options;
  options.tokens = "tokens";
  EXPECT_EQ(options.Validate("127.0.0.1:1", ""), absl::OkStatus());
  EXPECT_EQ(options.Validate("[::1]:1", "unix:///run/a"), absl::OkStatus());
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "").message()), HasSubstr("--listen 0.0.0.0:1"));
  EXPECT_THAT(std::string(options.Validate("127.0.0.1:1", "[::]:2").message()), HasSubstr("--admin [::]:2"));
  options.plaintext_tokens = true;
  EXPECT_EQ(options.Validate("0.0.0.0:1", ""), absl::OkStatus());
  options = {};
  options.tokens = "tokens";
  options.tls = {.certificate = "a", .key = "b"};
  EXPECT_EQ(options.Validate("0.0.0.0:1", "0.0.0.0:2"), absl::OkStatus());
}

TEST(IdentityOptions, AnAdminListenerOnTheNetworkNeedsClientCertificates) {
  IdentityOptions options;
  EXPECT_EQ(options.Validate("0.0.0.0:1", "127.0.0.1:2"), absl::OkStatus());
  EXPECT_EQ(options.Validate("0.0.0.0:1", "localhost:2"), absl::OkStatus());
  EXPECT_EQ(options.Validate("0.0.0.0:1", "unix:///run/vitrine/admin"), absl::OkStatus());
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "0.0.0.0:2").message()), HasSubstr("open to the network"));
  options.tls = {.certificate = "a", .key = "b"};
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "0.0.0.0:2").message()), HasSubstr("open to the network"))
      << "encryption alone says nothing about who asks";
  options.tls.client_ca = "c";
  EXPECT_EQ(options.Validate("0.0.0.0:1", "0.0.0.0:2"), absl::OkStatus());
}

TEST(IdentityOptions, CertificateAndKeyNeedEachOther) {
  IdentityOptions options;
  options.tls = {.certificate = "a"};
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "").message()), HasSubstr("--tls-cert needs --tls-key"));
  options.tls = {.key = "a"};
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "").message()), HasSubstr("--tls-key needs --tls-cert"));
  options.tls = {.client_ca = "a"};
  EXPECT_THAT(std::string(options.Validate("0.0.0.0:1", "").message()), HasSubstr("--tls-client-ca needs"));
}

}  // namespace
}  // namespace vitrine::testing
