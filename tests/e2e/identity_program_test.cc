// SPDX-License-Identifier: Apache-2.0
// Tests the programs with credentials: their output, secrets that must stay out of the logs, and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/server/identity/authority.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the first line of a JSON log that contains `words`.
nlohmann::json LineWith(const std::string& log, const std::string& words) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(words) != std::string::npos) return nlohmann::json::parse(line, nullptr, false);
  }
  return {};
}

class IdentityPrograms : public ::testing::Test {
 protected:
  IdentityPrograms() {
    std::filesystem::create_directory(folder_.path() / "repository");
    authority_.Issue("server", "DNS:vitrine.test", "serverAuth");
  }

  std::vector<std::string> Arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--repository", folder_.Path("repository"),
                                    "--listen",     "127.0.0.1:0",
                                    "--metrics",    "127.0.0.1:0",
                                    "--log-level",  "trace",
                                    "--port-file",  folder_.Path("ports")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> Tls() const {
    return {"--tls-cert", authority_.Path("server.pem"), "--tls-key", authority_.Path("server.key")};
  }
  // Returns the exit code of `vitrine ...`. Its output is in out_ and err_.
  int Vitrine(const std::string& arguments) {
    const std::string command =
        absl::StrCat(VITRINE_BIN, "/vitrine ", arguments, " >", folder_.Path("out"), " 2>", folder_.Path("err"));
    const int status = std::system(command.c_str());
    out_ = folder_.Read("out");
    err_ = folder_.Read("err");
    return WEXITSTATUS(status);
  }
  // Returns the address of "grpc", "health" or "admin" in the port file.
  std::string AddressOf(const std::string& name) const {
    const std::string ports = "\n" + folder_.Read("ports");
    const size_t at = ports.find("\n" + name + "=");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 2;
    return ports.substr(begin, ports.find('\n', begin) - begin);
  }

  const ScratchFolder folder_;
  const Authority authority_;
  std::string out_;
  std::string err_;
};

TEST_F(IdentityPrograms, ATokenAuthenticatesAndAppearsInNoLog) {
  PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
  ASSERT_EQ(Vitrine(absl::StrCat("token new ci --out ", folder_.Path("tokens"))), 0) << err_;
  const std::string token(absl::StripAsciiWhitespace(out_));
  EXPECT_GE(token.size(), 40u);
  EXPECT_THAT(folder_.Read("tokens"), Not(HasSubstr(token)));
  folder_.Write("ci.token", token + "\n");
  folder_.Write("wrong.token", token + "wrong\n");

  std::vector<std::string> flags = Tls();
  for (const std::string& flag :
       {std::string("--tokens"), folder_.Path("tokens"), std::string("--health-listen"), std::string("127.0.0.1:0"),
        std::string("--admin"), "unix://" + folder_.Path("admin.sock")}) {
    flags.push_back(flag);
  }
  ChildServer server(folder_.path(), Arguments(flags));
  ASSERT_FALSE(server.AwaitReady().empty());
  const std::string where = absl::StrCat(" --max-attempts 1 --server ", AddressOf("grpc"),
                                         " --tls-server-name vitrine.test --tls-ca ", authority_.Path("ca.pem"));
  EXPECT_EQ(Vitrine(absl::StrCat("models", where, " --token-file ", folder_.Path("ci.token"))), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("mixed"));
  EXPECT_EQ(Vitrine(absl::StrCat("models", where, " --token-file ", folder_.Path("wrong.token"))), 1);
  EXPECT_THAT(err_, HasSubstr("no token that is known"));
  EXPECT_THAT(err_, Not(HasSubstr(token)));
  EXPECT_EQ(Vitrine(absl::StrCat("models", where)), 1);
  EXPECT_EQ(Vitrine(absl::StrCat("models --max-attempts 1 --server ", AddressOf("grpc"))), 1) << "plaintext";
  EXPECT_EQ(Vitrine(absl::StrCat("health", where)), 0) << err_;
  EXPECT_EQ(Vitrine(absl::StrCat("health --server ", AddressOf("health"))), 0) << err_;
  EXPECT_EQ(out_, "SERVING\n");
  EXPECT_EQ(Vitrine(absl::StrCat("health model/mixed --server ", AddressOf("health"))), 0) << err_;
  EXPECT_EQ(Vitrine(absl::StrCat("health model/none --server ", AddressOf("health"))), 1);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Output(), Not(HasSubstr(token)));
  EXPECT_EQ(Vitrine(absl::StrCat("health --connect-timeout 1s --server ", AddressOf("health"))), 1);
}

TEST_F(IdentityPrograms, EveryLineOfTheJsonLogIsAnObject) {
  PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
  std::vector<std::string> flags = Tls();
  flags.insert(flags.end(), {"--log-format", "json"});
  ChildServer server(folder_.path(), Arguments(flags));
  ASSERT_FALSE(server.AwaitReady().empty());
  // These bytes are not encrypted, so a TLS server cannot parse them.
  EXPECT_THAT(HttpExchange(AddressOf("grpc"), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("this port speaks HTTPS"));
  HttpExchange(AddressOf("grpc"), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  std::istringstream lines(server.Output());
  for (std::string line; std::getline(lines, line);) {
    // "listening on" is the only line that is not JSON.
    EXPECT_TRUE(line.starts_with("listening on") || nlohmann::json::accept(line)) << line;
  }
}

TEST_F(IdentityPrograms, AdminCallsAreAuditedAtEveryLogLevel) {
  const std::string socket = "unix://" + folder_.Path("admin.sock");
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{}, {"--audit-log", folder_.Path("audit/log")}}) {
    std::vector<std::string> all = Arguments({"--admin", socket, "--log-format", "json"});
    all.insert(all.end(), flags.begin(), flags.end());
    std::replace(all.begin(), all.end(), std::string("trace"), std::string("off"));
    std::filesystem::create_directory(folder_.path() / "audit");
    ChildServer server(folder_.path(), all);
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(folder_.path() / "ports"); })) << server.Output();
    std::filesystem::remove_all(folder_.path() / "audit");  // makes the audit log impossible to write
    EXPECT_EQ(Vitrine("admin unload nothing --all --admin " + socket), 1) << out_;
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Wait(), 0);
    const nlohmann::json line = LineWith(server.Output(), "\"message\":\"audit\"");
    EXPECT_EQ(line["method"], "/vitrine.v1.Admin/UnloadModel") << server.Output();
    EXPECT_EQ(line["arguments"]["model"], "nothing") << "an object, not text";
    EXPECT_THAT(std::string(line["peer"]), HasSubstr("unix:"));
    EXPECT_THAT(server.Output(), Not(HasSubstr("\"message\":\"started\""))) << "the log is off";
    std::filesystem::remove(folder_.path() / "ports");
  }
}

}  // namespace
}  // namespace vitrine::testing
