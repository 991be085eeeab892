// SPDX-License-Identifier: Apache-2.0
// Tests the unix socket on which a server accepts calls in addition to its port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/commands/token_command.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/server/identity/authority.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ClientSocket : public ::testing::Test {
 protected:
  ClientSocket() : options_(TestOptions(folder_.path() / "repository")) {
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
    options_.rpc.socket = "unix://" + path_;
  }

  static grpc::Status Classify(const std::string& address, const std::string& token = "") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::ClassifyResponse response;
    return v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))
        ->Classify(&context, ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
  }

  bool IsSocketOfMineAlone() const {
    struct stat file = {};
    return lstat(path_.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && (file.st_mode & 0777) == 0600;
  }
  bool IsThere() const {
    struct stat file = {};
    return lstat(path_.c_str(), &file) == 0;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.Path("calls");
  ServerOptions options_;
};

TEST_F(ClientSocket, AcceptsCallsBesideThePortAndIsRemovedAtTheEnd) {
  RunningServer running(options_);
  EXPECT_EQ(running.server().socket_address(), "unix://" + path_);
  EXPECT_TRUE(IsSocketOfMineAlone());
  for (const std::string& address : {"unix:" + path_, "unix://" + path_, running.server().address()}) {
    const grpc::Status status = Classify(address);
    EXPECT_TRUE(status.ok()) << address << ": " << status.error_message();
  }
  // A second server must not take over the socket, and its error must name the socket.
  const auto second = Server::Start(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), AllOf(HasSubstr(path_), HasSubstr("in use")));
  EXPECT_TRUE(Classify("unix:" + path_).ok());
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, 4);
  EXPECT_EQ(counts.answered, 4);
  EXPECT_FALSE(IsThere());
}

// A Unix socket needs no TLS, since its traffic stays on the machine. Authentication is the same as on the port.
TEST_F(ClientSocket, UsesNoTlsAndRequiresTokens) {
  Authority authority;
  authority.Issue("server", "DNS:vitrine.test", "serverAuth");
  options_.identity.tls = {.certificate = authority.Path("server.pem"), .key = authority.Path("server.key")};
  options_.identity.tokens = folder_.Path("tokens");
  std::ostringstream token;
  ASSERT_EQ(MakeToken("ci", options_.identity.tokens, token), absl::OkStatus());
  const auto server = Server::Start(options_);
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE((*server)->WaitUntilReady(absl::Minutes(1)));
  EXPECT_EQ(Classify("unix:" + path_).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Classify("unix:" + path_, token.str().substr(0, token.str().size() - 1)).ok());
  EXPECT_EQ(Classify((*server)->address()).error_code(), grpc::StatusCode::UNAVAILABLE) << "the port speaks TLS";
}

TEST_F(ClientSocket, TheClientProgramCanUseIt) {
  RunningServer running(options_);
  folder_.Write("picture.jpg", NoiseJpeg(24, 24, 1));
  const std::string command = absl::StrCat(VITRINE_BIN, "/vitrine classify ", folder_.Path("picture.jpg"),
                                           " --model mixed --format json --server unix:", path_, " 2>&1");
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  EXPECT_EQ(pclose(pipe), 0) << output;
  EXPECT_THAT(output, HasSubstr("mixed"));
}

}  // namespace
}  // namespace vitrine::testing
