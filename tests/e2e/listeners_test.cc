// SPDX-License-Identifier: Apache-2.0
// Tests that the listeners for operators report the connections that they cut off, and that --admin has the limits of
// connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/common/http1_client.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/scratch_folder.h"
#include "tests/server/identity/authority.h"
#include "tests/server/logged.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

class Listeners : public ::testing::Test {
 protected:
  Listeners() : options_(TestOptions(folder_.path() / "repository")) {
    std::filesystem::create_directory(folder_.path() / "repository");
    options_.admin.listen = options_.health_listen = "127.0.0.1:0";
    options_.allow_empty = true;
  }

  // Waits until the server has closed a connection of this listener for this reason.
  static bool Closes(const RunningServer& running, const std::string& listener, const std::string& reason) {
    return Eventually([&] {
      return running.Metric(absl::StrCat("vitrine_connections_closed_total{listener=\"", listener, "\",reason=\"",
                                         reason, "\"} ")) > 0;
    });
  }

  const ScratchFolder folder_;
  ServerOptions options_;
};

TEST_F(Listeners, CountAndLogTheConnectionsThatTheyCutOff) {
  const Authority authority;
  authority.Issue("server", "DNS:vitrine.test", "serverAuth");
  options_.identity.tls = {.certificate = authority.Path("server.pem"), .key = authority.Path("server.key")};
  RunningServer running(options_);
  const std::string log = Logged("info", "text", [&] {
    // The listener of --admin requires TLS.
    HttpExchange(running.server().admin_address(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    HttpExchange(running.server().health_address(), "no HTTP\r\n\r\n");
    HttpExchange(running.server().metrics_address(), "no HTTP\r\n\r\n");
    EXPECT_TRUE(Closes(running, "admin", "tls"));
    EXPECT_TRUE(Closes(running, "health", "protocol"));
    EXPECT_TRUE(Closes(running, "metrics", "protocol"));
  });
  EXPECT_THAT(log, HasSubstr("listener=admin detail=\"the client sent HTTP without TLS\""));
  EXPECT_THAT(log, HasSubstr("listener=health"));
  EXPECT_THAT(log, HasSubstr("listener=metrics"));
  EXPECT_EQ(running.Metric("vitrine_connections_total "), 0) << "counts only the listeners for clients";
}

TEST_F(Listeners, AdminHasTheLimitsOfConnections) {
  options_.rpc.handshake_timeout = absl::Seconds(1);
  options_.abuse.connections = 1;
  RunningServer running(options_);
  const std::string address = running.server().admin_address();
  Http1Client first(address), second(address);
  EXPECT_EQ(second.Read(), "");
  EXPECT_TRUE(Closes(running, "admin", "address_limit"));
  EXPECT_EQ(first.Read(), "");
  EXPECT_TRUE(Closes(running, "admin", "head_timeout"));
}

}  // namespace
}  // namespace vitrine::testing
