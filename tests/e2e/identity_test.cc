// SPDX-License-Identifier: Apache-2.0
// Tests TLS, tokens and the listeners of a running server.
#include <gmock/gmock.h>
#include <grpc/grpc_security_constants.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/commands/token_command.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/identity/authorization.h"
#include "server/observe/log.h"
#include "tests/e2e/testing/generic_call.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"
#include "tests/server/identity/authority.h"
#include "tests/server/logged.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine::testing {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kList[] = "/vitrine.v1.Registry/ListModels";

// A server that rereads its identity files every few milliseconds.
class IdentityServer : public ::testing::Test {
 protected:
  IdentityServer() : options_(TestOptions(folder_.path() / "repository")) {
    std::filesystem::create_directory(folder_.path() / "repository");
    options_.identity.reread_interval = absl::Milliseconds(5);
    options_.log_level = "off";
  }

  void WithTls(const std::string& client_ca = "") {
    authority_.emplace();
    authority_->Issue("server", "DNS:vitrine.test", "serverAuth");
    authority_->Issue("client", "URI:spiffe://test/client", "clientAuth");
    options_.identity.tls = {.certificate = authority_->Path("server.pem"), .key = authority_->Path("server.key")};
    if (!client_ca.empty()) options_.identity.tls.client_ca = authority_->Path(client_ca);
  }

  std::string NewToken(const std::string& name) {
    options_.identity.tokens = folder_.Path("tokens");
    std::ostringstream out;
    EXPECT_EQ(MakeToken(name, options_.identity.tokens, out), absl::OkStatus());
    std::string token = out.str();
    token.pop_back();
    return token;
  }

  void Start() {
    spdlog::set_level(spdlog::level::off);
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->WaitUntilReady(absl::Minutes(3)));
  }

  // Returns a new connection.
  std::shared_ptr<grpc::Channel> Secure(const std::string& certificate = "") const {
    grpc::SslCredentialsOptions pem;
    pem.pem_root_certs = authority_->Read("ca.pem");
    if (!certificate.empty()) {
      pem.pem_cert_chain = authority_->Read(certificate + ".pem");
      pem.pem_private_key = authority_->Read(certificate + ".key");
    }
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("vitrine.test");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server_->address(), grpc::SslCredentials(pem), arguments);
  }
  static std::shared_ptr<grpc::Channel> Plain(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }

  // Returns the status of a call; OK if a message was received.
  static grpc::StatusCode Ask(const std::shared_ptr<grpc::Channel>& channel, const char* method,
                              const std::string& token = "") {
    const CallEnd end = CallGeneric(channel, method, *RequestOf(method, ""), token);
    return end.message ? grpc::StatusCode::OK : end.status.error_code();
  }

  // Returns the server's certificate on a new connection, in PEM.
  std::string Shown() const {
    grpc::ClientContext context;
    HealthCheckResponse response;
    const grpc::Status status =
        grpc::health::v1::Health::NewStub(Secure())->Check(&context, HealthCheckRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) return "";
    const auto values = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    return values.empty() ? "" : std::string(values[0].data(), values[0].size());
  }

  // Writes files that the running server must refuse, and waits until its log says so.
  static void AwaitRefusal(const std::function<void()>& write) {
    spdlog::set_level(spdlog::level::err);
    const uint64_t errors = History().Counts().second;
    write();
    EXPECT_TRUE(Eventually([&] { return History().Counts().second > errors; })) << "the files were not refused";
    EXPECT_THAT(History().Lines().front().text,
                HasSubstr("a settings file is rejected, its previous content stays in effect fault=\"--tls-"));
    spdlog::set_level(spdlog::level::off);
  }

  const ScratchFolder folder_;
  std::optional<Authority> authority_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(IdentityServer, ARotatedCertificateIsUsedForNewConnections) {
  WithTls();
  Start();
  const std::string first = authority_->Read("server.pem");
  EXPECT_EQ(Shown(), first);
  const auto old_connection = Secure();
  EXPECT_EQ(Ask(old_connection, kList), grpc::StatusCode::OK);

  authority_->Issue("next", "DNS:vitrine.test", "serverAuth");
  // Replaces the certificate but not its key, so the two files do not match.
  AwaitRefusal([&] { authority_->Write("server.pem", authority_->Read("next.pem")); });
  EXPECT_EQ(Shown(), first) << "half a rotation";
  authority_->Write("server.key", authority_->Read("next.key"));
  EXPECT_TRUE(Eventually([&] { return Shown() == authority_->Read("next.pem"); }, absl::Seconds(20)));
  EXPECT_EQ(Ask(old_connection, kList), grpc::StatusCode::OK) << "a connection outlives its certificate's files";

  authority_->Issue("expired", "DNS:vitrine.test", "serverAuth", -1);
  // Each file has a different fault than the previous file, because repeated messages are logged once.
  for (const std::string& bytes : {std::string("nonsense"), authority_->Read("expired.pem"), std::string()}) {
    AwaitRefusal([&] { authority_->Write("server.pem", bytes); });
    EXPECT_EQ(Shown(), authority_->Read("next.pem")) << "the pair before it serves on";
  }
}

TEST_F(IdentityServer, MutualTlsRequiresAClientCertificate) {
  WithTls("clients.pem");
  authority_->IssueAuthority("old", -1);  // expired; must be ignored beside the valid "ca"
  authority_->Write("clients.pem", authority_->Read("old.pem") + authority_->Read("ca.pem"));
  Start();
  EXPECT_EQ(Ask(Secure("client"), kList), grpc::StatusCode::OK);
  EXPECT_EQ(Ask(Secure(), kList), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(Secure(), kCheck), grpc::StatusCode::UNAVAILABLE) << "health too: that is what --health-listen is for";
}

// The stream must end soon, without the grace time of --connection-age-grace, which is five minutes by default.
TEST_F(IdentityServer, AStreamEndsAfterItsAuthorityIsRemoved) {
  WithTls("clients.pem");
  authority_->Write("clients.pem", authority_->Read("ca.pem"));
  Start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  const auto watch = grpc::health::v1::Health::NewStub(Secure("client"))->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  authority_->Write("clients.pem", Authority().Read("ca.pem"));
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(IdentityServer, ThePlaintextListenerServesOnlyProbes) {
  WithTls("ca.pem");
  options_.health_listen = "127.0.0.1:0";
  options_.allow_empty = true;
  Start();
  const auto probe = Plain(server_->health_address());
  grpc::ClientContext context;
  HealthCheckResponse response;
  ASSERT_TRUE(grpc::health::v1::Health::NewStub(probe)->Check(&context, HealthCheckRequest(), &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(Ask(probe, "/grpc.health.v1.Health/Watch"), grpc::StatusCode::OK);
  for (const char* method : {kList, "/vitrine.v1.Classifier/Classify", "/vitrine.v1.Admin/GetServing",
                             "/inference.GRPCInferenceService/ServerLive"}) {
    EXPECT_EQ(Ask(probe, method), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
  HealthCheckRequest larger;  // above the limit for callers without a credential
  larger.set_service(std::string(5 << 10, 'x'));
  EXPECT_EQ(CallGeneric(probe, kCheck, larger).status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  server_->Drain();
}

// Without a limit on the length of names in requests, clients without a credential could make the server store
// megabytes.
TEST_F(IdentityServer, TooLongNamesAreRefusedWithoutBeingStored) {
  Start();
  const auto channel = Plain(server_->address());
  HealthCheckRequest known, longest, longer;
  known.set_service("model/none");
  longest.set_service(std::string(128, 'x'));
  longer.set_service(std::string(129, 'x'));
  const char* watch = "/grpc.health.v1.Health/Watch";
  EXPECT_TRUE(CallGeneric(channel, watch, known).message);
  EXPECT_TRUE(CallGeneric(channel, watch, longest).message);
  EXPECT_EQ(CallGeneric(channel, kCheck, longest).status.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::WatchModelsRequest models;
  models.set_model(std::string(60'000, 'x'));
  for (const auto& [method, request] : {std::pair<const char*, const google::protobuf::Message*>(watch, &longer),
                                        {kCheck, &longer},
                                        {"/vitrine.v1.Registry/WatchModels", &models}}) {
    const CallEnd end = CallGeneric(channel, method, *request);
    EXPECT_EQ(end.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_LT(end.status.error_message().size(), 200u);
  }
}

TEST_F(IdentityServer, EachCallWithAWrongTokenHasOneLogLine) {
  NewToken("ci");
  options_.request_log.requests = "failures";
  Start();
  const auto channel = Plain(server_->address());
  for (const char* method : {"ListModels", "WatchModels", "Classify", "ClassifyStream"}) {
    const std::string rpc =
        absl::StrCat("/vitrine.v1.", absl::EndsWith(method, "Models") ? "Registry/" : "Classifier/", method);
    const std::string lines = Logged(
        "info", "text", [&] { EXPECT_EQ(Ask(channel, rpc.c_str(), "wrong"), grpc::StatusCode::UNAUTHENTICATED); });
    const std::vector<std::string> parts = absl::StrSplit(lines, "request method=");  // other threads log too
    ASSERT_EQ(parts.size(), 2U) << lines;
    EXPECT_THAT(parts[1], StartsWith(absl::StrCat(method, " code=UNAUTHENTICATED")));
  }
}

TEST_F(IdentityServer, EachRequestOfAStreamIsAuthorizedForItsModel) {
  const std::string token = NewToken("ci");
  options_.identity.policy = folder_.Write("policy", R"(
    roles { name: "r" methods: "/vitrine.v1.Classifier/*" models: "mine" } callers { token: "ci" roles: "r" })");
  PublishModel(folder_.path() / "repository", "mine", MixedConfig());
  PublishModel(folder_.path() / "repository", "yours", MixedConfig());
  Start();
  const auto stub = v1::Classifier::NewStub(Plain(server_->address()));
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + token);
  const auto stream = stub->ClassifyStream(&context);
  v1::ClassifyStreamResponse response;
  for (const char* model : {"yours", "nobodys"}) {
    v1::ClassifyRequest request = ImageRequest(model, NoiseJpeg(32, 32, 1));
    request.set_request_id(model);
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    EXPECT_EQ(response.error().code(), static_cast<int>(grpc::StatusCode::PERMISSION_DENIED)) << model;
  }
  v1::ClassifyRequest request = ImageRequest("mine", NoiseJpeg(32, 32, 1));
  request.set_request_id("mine");
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_TRUE(response.has_response()) << response.error().message();
}

// Tries every method that looks a model up, on both listeners.
TEST_F(IdentityServer, ErrorsDoNotNameForbiddenModels) {
  const std::string token = NewToken("ci");
  std::string methods;
  for (const MethodPolicy& row : kMethodPolicies) {
    if (row.access != Access::kOpen) absl::StrAppend(&methods, " methods: \"", std::string(row.method), "\"");
  }
  options_.identity.policy = folder_.Write(
      "policy", absl::StrCat("roles { name: 'r' models: 'my-*'", methods, " } callers { token: 'ci' roles: 'r' }"));
  options_.admin.listen = "127.0.0.1:0";
  PublishModel(folder_.path() / "repository", "my-model", MixedConfig());
  PublishModel(folder_.path() / "repository", "secret", MixedConfig());
  Start();
  int not_found = 0;
  for (const MethodPolicy& row : kMethodPolicies) {
    const std::string method(row.method);
    // These methods either do not reject the call or never answer.
    if (row.access == Access::kOpen || absl::StrContains(method, "Stream") || absl::EndsWith(method, "WatchModels")) {
      continue;
    }
    const auto channel = Plain(row.access == Access::kAdmin ? server_->admin_address() : server_->address());
    const CallEnd end = CallGeneric(channel, method, *RequestOf(method, "my-absent"), token);
    EXPECT_FALSE(absl::StrContains(end.status.error_message(), "secret")) << method << end.status.error_message();
    not_found += !end.message && end.status.error_code() == grpc::StatusCode::NOT_FOUND ? 1 : 0;
  }
  EXPECT_GE(not_found, 12);
  const char* classify = "/vitrine.v1.Classifier/Classify";
  EXPECT_EQ(
      CallGeneric(Plain(server_->address()), classify, *RequestOf(classify, "my-absent"), token).status.error_message(),
      "there is no model \"my-absent\"; there is \"my-model\"")
      << "what the caller may use helps";
}

TEST_F(IdentityServer, TheAdminSocketIsOnlyForItsUser) {
  NewToken("ci");
  const std::string path = folder_.Path("admin.sock");
  options_.admin = {.listen = "unix://" + path, .audit_log = folder_.Path("audit")};
  PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
  Start();
  struct stat file = {};
  ASSERT_EQ(lstat(path.c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  grpc::ClientContext context;
  v1::ServingStatus status;
  const grpc::Status answer =
      v1::Admin::NewStub(Plain(server_->admin_address()))->GetServing(&context, v1::GetServingRequest(), &status);
  ASSERT_TRUE(answer.ok()) << answer.error_message();
  EXPECT_EQ(status.models_size(), 1);
  EXPECT_THAT(folder_.Read("audit"), HasSubstr(absl::StrCat("\"caller\":\"uid:", geteuid(), "\"")));

  // A second server must not take over a socket that is in use.
  const absl::StatusOr<std::unique_ptr<Server>> second = Server::Start(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("admin.sock"));
  server_->Drain();
  EXPECT_NE(lstat(path.c_str(), &file), 0) << "it is gone with its server";
}

TEST_F(IdentityServer, AStaleSocketIsReplacedAndAFileIsNot) {
  const std::string path = folder_.Path("admin.sock");
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  path.copy(where.sun_path, path.size());
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  close(left);
  options_.admin.listen = "unix:" + path;
  Start();
  server_->Drain();
  server_.reset();
  folder_.Write("admin.sock", "precious");
  EXPECT_FALSE(Server::Start(options_).ok());
  EXPECT_EQ(folder_.Read("admin.sock"), "precious");
}

TEST_F(IdentityServer, TheSocketOfASuccessorIsNotRemoved) {
  const std::string path = folder_.Path("admin.sock");
  options_.admin.listen = "unix:" + path;
  Start();
  const std::unique_ptr<Server> first = std::move(server_);
  ASSERT_EQ(unlink(path.c_str()), 0);
  Start();
  first->Drain();
  EXPECT_EQ(Ask(Plain("unix:" + path), "/vitrine.v1.Admin/GetServing"), grpc::StatusCode::OK);
}

TEST_F(IdentityServer, AConnectionWithoutAHandshakeIsClosed) {
  WithTls();
  options_.rpc.handshake_timeout = absl::Milliseconds(300);
  Start();
  const int silent = ConnectTcp(server_->address());
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  setsockopt(silent, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  char byte = 0;
  EXPECT_LE(recv(silent, &byte, 1, 0), 0);
  EXPECT_NE(errno, EAGAIN) << "still open after ten seconds";
  close(silent);
}

}  // namespace
}  // namespace vitrine::testing
