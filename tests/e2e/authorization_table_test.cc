// SPDX-License-Identifier: Apache-2.0
// Calls every RPC of every listener with every kind of credential over TLS. Each result must agree with the policy.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/commands/token_command.h"
#include "server/identity/authorization.h"
#include "tests/e2e/standard_services.pb.h"
#include "tests/e2e/testing/generic_call.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/e2e/testing/standard_call.h"
#include "tests/server/identity/authority.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine::testing {
namespace {

using ::testing::IsSupersetOf;

// Name of a model that matches the policy, but is not published. Therefore allowed calls change nothing.
constexpr char kAbsent[] = "eit-absent";
constexpr char kOther[] = "other";  // published, but no role of these callers may use it

// Role of a test caller. The policy file and the expected results are both made from these roles.
struct TestRole {
  const char* caller;  // the caller's line in the policy
  std::vector<std::string> methods;
};
const std::map<std::string, TestRole>& Roles() {
  static const std::map<std::string, TestRole> roles = {
      {"reader",
       {R"(token: "reader")",
        {"/vitrine.v1.Registry/*", "/inference.GRPCInferenceService/ModelReady",
         "/inference.GRPCInferenceService/ModelStatistics", "/inference.GRPCInferenceService/ServerMetadata",
         "/inference.GRPCInferenceService/ModelMetadata", "/inference.GRPCInferenceService/ModelConfig",
         "/inference.GRPCInferenceService/RepositoryIndex"}}},
      {"classifier",
       {R"(token: "classifier")",
        {"/vitrine.v1.Classifier/*", "/inference.GRPCInferenceService/ModelInfer",
         "/inference.GRPCInferenceService/ModelStreamInfer"}}},
      {"operator",
       {R"(certificate: "spiffe://test/operator")",
        {"/vitrine.v1.Admin/*", "/inference.GRPCInferenceService/*",
         "/inference.GRPCInferenceService/RepositoryModelLoad",
         "/inference.GRPCInferenceService/RepositoryModelUnload"}}},
  };
  return roles;
}

std::string PolicyText() {
  std::string text;
  for (const auto& [name, role] : Roles()) {
    absl::StrAppend(&text, "roles { name: \"", name, "\" models: \"eit-*\"");
    for (const std::string& method : role.methods) absl::StrAppend(&text, " methods: \"", method, "\"");
    absl::StrAppend(&text, " }\ncallers { ", role.caller, " roles: \"", name, "\" }\n");
  }
  return text;
}

bool RoleHas(const std::string& role, const std::string& method) {
  for (const std::string& pattern : Roles().at(role).methods) {
    const bool all = absl::EndsWith(pattern, "/*");
    if (all ? absl::StartsWith(method, pattern.substr(0, pattern.size() - 1)) : pattern == method) return true;
  }
  return false;
}

// A caller in the authorization table, with its credential and its role ("": no role).
struct TestCaller {
  std::string title = {};
  std::string token = {};
  std::string certificate = {};
  std::string role = {};
  bool known = false;
};

class AuthorizationTable : public ::testing::Test {
 protected:
  AuthorizationTable() {
    PublishModel(folder_.path() / "repository", "eit-mixed", MixedConfig());
    PublishModel(folder_.path() / "repository", kOther, MixedConfig());
    authority_.Issue("server", "DNS:vitrine.test", "serverAuth");
    authority_.Issue("operator", "DNS:operator.test,URI:spiffe://test/operator", "clientAuth");
    authority_.Issue("guest", "DNS:guest.test", "clientAuth");
    authority_.Issue("expired", "URI:spiffe://test/operator", "clientAuth", -1);
    stranger_.Issue("stranger", "URI:spiffe://test/operator", "clientAuth");
    for (const char* name : {"reader", "classifier", "unlisted"}) tokens_[name] = NewToken(name);
    folder_.Write("policy", PolicyText());
    ServerOptions options = TestOptions(folder_.path() / "repository");
    options.identity.tls = {.certificate = authority_.Path("server.pem"),
                            .key = authority_.Path("server.key"),
                            .client_ca = authority_.Path("ca.pem"),
                            .client_certificate_optional = true};
    options.identity.tokens = folder_.Path("tokens");
    options.identity.policy = folder_.Path("policy");
    options.admin = {.listen = "127.0.0.1:0", .audit_log = folder_.Path("audit")};
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    EXPECT_TRUE(server_->WaitUntilReady(absl::Minutes(3)));
  }

  std::string NewToken(const std::string& name) const {
    std::ostringstream out;
    EXPECT_EQ(MakeToken(name, folder_.Path("tokens"), out), absl::OkStatus());
    std::string token = out.str();
    token.pop_back();
    return token;
  }

  std::vector<TestCaller> Callers() const {
    return {
        {.title = "no credential"},
        {.title = "wrong token", .token = tokens_.at("reader") + "x"},
        {.title = "token without an entry", .token = tokens_.at("unlisted"), .known = true},
        {.title = "certificate without an entry", .certificate = "guest", .known = true},
        {.title = "token of reader", .token = tokens_.at("reader"), .role = "reader", .known = true},
        {.title = "token of classifier", .token = tokens_.at("classifier"), .role = "classifier", .known = true},
        {.title = "certificate of operator", .certificate = "operator", .role = "operator", .known = true},
    };
  }

  std::shared_ptr<grpc::Channel> Channel(const std::string& address, const std::string& certificate) const {
    const Authority& whose = certificate == "stranger" ? stranger_ : authority_;
    grpc::SslCredentialsOptions pem;
    pem.pem_root_certs = authority_.Read("ca.pem");
    if (!certificate.empty()) {
      pem.pem_cert_chain = whose.Read(certificate + ".pem");
      pem.pem_private_key = whose.Read(certificate + ".key");
    }
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("vitrine.test");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, grpc::SslCredentials(pem), arguments);
  }

  std::string AddressOf(const std::string& method) const {
    const bool admin = RpcName::Find(method)->access() == Access::kAdmin;
    return admin ? server_->admin_address() : server_->address();
  }

  v1::ServingStatus Serving() const {
    grpc::ClientContext context;
    v1::ServingStatus status;
    const auto stub = v1::Admin::NewStub(Channel(server_->admin_address(), "operator"));
    EXPECT_TRUE(stub->GetServing(&context, {}, &status).ok());
    return status;
  }

  const Authority authority_;
  const Authority stranger_;
  const ScratchFolder folder_;
  std::map<std::string, std::string> tokens_;
  std::unique_ptr<Server> server_;
};

// Returns the methods of Admin and of all services that reflection lists. Queries a server without credentials,
// because a server with credentials offers no reflection.
std::vector<std::string> RegisteredMethods() {
  const ScratchFolder folder;
  RunningServer running(folder.path());
  StandardCall<ReflectionRequest, ReflectionResponse> call(
      running.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  ReflectionRequest request;
  request.set_list_services("*");
  EXPECT_TRUE(call.Write(request));
  ReflectionResponse response;
  EXPECT_TRUE(call.Read(&response));
  std::vector<std::string> services = {"vitrine.v1.Admin"};
  for (const auto& service : response.services().service()) services.push_back(service.name());
  std::vector<std::string> methods;
  for (const std::string& name : services) {
    if (absl::StartsWith(name, "grpc.reflection.")) continue;
    const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    if (service == nullptr) {
      ADD_FAILURE() << name << " is served, and its descriptor is not linked into this test";
      continue;
    }
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat("/", name, "/", service->method(i)->name()));
    }
  }
  return methods;
}

std::string Short(const CallEnd& end) {
  switch (end.message ? grpc::StatusCode::OK : end.status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    default:
      return "allowed";  // the method may answer the request in any way
  }
}

std::string Expected(const TestCaller& caller, const std::string& method, const std::string& model) {
  if (RpcName::Find(method)->access() == Access::kOpen) return "allowed";
  if (!caller.known) return "UNAUTHENTICATED";
  if (caller.role.empty() || !RoleHas(caller.role, method)) return "PERMISSION_DENIED";
  return absl::StartsWith(model, "eit-") ? "allowed" : "PERMISSION_DENIED";
}

// Returns true if the method's request names one model, so that the server denies the whole call for a forbidden model.
// Lists and watches instead omit forbidden models, and streams reject each request separately; see identity_test.cc.
bool NamesOneModel(const std::string& method) {
  static const std::set<std::string> kOthers = {"/vitrine.v1.Registry/ListModels",
                                                "/vitrine.v1.Registry/WatchModels",
                                                "/inference.GRPCInferenceService/ModelStatistics",
                                                "/vitrine.v1.Classifier/ClassifyStream",
                                                "/inference.GRPCInferenceService/ModelStreamInfer",
                                                "/inference.GRPCInferenceService/ServerMetadata",
                                                "/inference.GRPCInferenceService/RepositoryIndex"};
  return RpcName::Find(method)->access() != Access::kOpen && !kOthers.contains(method);
}

class Markdown {
 public:
  explicit Markdown(const std::vector<TestCaller>& callers) {
    text_ = "| method | model |";
    std::string line = "|---|---|";
    for (const TestCaller& caller : callers) {
      absl::StrAppend(&text_, " ", caller.title, " |");
      line += "---|";
    }
    absl::StrAppend(&text_, "\n", line, "\n");
  }
  void Add(const std::string& text) { text_ += text; }
  // Writes the table to the file that $VITRINE_AUTHORIZATION_TABLE names. Does nothing if the variable is not set.
  void Write() const {
    const char* path = std::getenv("VITRINE_AUTHORIZATION_TABLE");
    if (path != nullptr) std::ofstream(path) << text_;
  }

 private:
  std::string text_;
};

TEST_F(AuthorizationTable, EveryMethodFollowsThePolicyForEveryCredential) {
  const std::vector<std::string> methods = RegisteredMethods();
  const std::vector<TestCaller> callers = Callers();
  std::map<std::pair<std::string, std::string>, std::shared_ptr<grpc::Channel>> channels;
  const std::string before = Serving().SerializeAsString();
  Markdown markdown(callers);
  for (const std::string& method : methods) {
    ASSERT_TRUE(RpcName::Find(method).has_value()) << method << " has no row in kMethodPolicies";
    std::vector<std::string> models = {method == "/vitrine.v1.Registry/WatchModels" ? "eit-mixed" : kAbsent};
    if (NamesOneModel(method)) models.push_back(kOther);
    for (const std::string& model : models) {
      markdown.Add(absl::StrCat("| `", method, "` | ", NamesOneModel(method) ? model : "", " |"));
      for (const TestCaller& caller : callers) {
        auto& channel = channels[{AddressOf(method), caller.certificate}];
        if (channel == nullptr) channel = Channel(AddressOf(method), caller.certificate);
        // The operator's allowed calls name nonexistent models, so these calls change nothing.
        const CallEnd end = CallGeneric(channel, method, *RequestOf(method, model), caller.token);
        EXPECT_EQ(Short(end), Expected(caller, method, model))
            << method << " of " << model << " by " << caller.title << ": " << end.status.error_message();
        markdown.Add(absl::StrCat(" ", Short(end), " |"));
      }
      markdown.Add("\n");
    }
  }
  EXPECT_GT(methods.size(), 20u);
  EXPECT_EQ(Serving().SerializeAsString(), before) << "a call of the table changed what is served";
  markdown.Write();
}

TEST_F(AuthorizationTable, EveryRowIsAMethodOfARegisteredService) {
  const std::vector<std::string> methods = RegisteredMethods();
  for (const MethodPolicy& row : kMethodPolicies) {
    EXPECT_THAT(methods, ::testing::Contains(std::string(row.method))) << "a row for nothing";
  }
}

TEST_F(AuthorizationTable, UntrustedCertificatesGetNoConnection) {
  for (const char* certificate : {"stranger", "expired"}) {
    for (const char* method : {"/grpc.health.v1.Health/Check", "/vitrine.v1.Admin/LoadModel"}) {
      const CallEnd end = CallGeneric(Channel(AddressOf(method), certificate), method, *RequestOf(method, kAbsent));
      EXPECT_EQ(Short(end), "UNAVAILABLE") << certificate << " " << method;
    }
  }
}

TEST_F(AuthorizationTable, PlaintextConnectionsAreRefused) {
  for (const std::string& address : {server_->address(), server_->admin_address()}) {
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    const CallEnd end = CallGeneric(channel, "/grpc.health.v1.Health/Check",
                                    *RequestOf("/grpc.health.v1.Health/Check", ""), tokens_.at("reader"));
    EXPECT_EQ(Short(end), "UNAVAILABLE");
  }
}

TEST_F(AuthorizationTable, AdminAndReflectionAreOnlyOnTheAdminListener) {
  const auto channel = Channel(server_->address(), "operator");
  for (const char* method : {"LoadModel", "UnloadModel", "GetServing"}) {
    const std::string name = absl::StrCat("/vitrine.v1.Admin/", method);
    EXPECT_EQ(Short(CallGeneric(channel, name, *RequestOf(name, kAbsent))), "UNIMPLEMENTED");
  }
  // The Open Inference Protocol's service is on the listener, but its admin methods are denied even to the operator,
  // and even for a served model.
  const std::string before = Serving().SerializeAsString();
  for (const char* method : {"RepositoryModelLoad", "RepositoryModelUnload"}) {
    const std::string name = absl::StrCat("/inference.GRPCInferenceService/", method);
    EXPECT_EQ(Short(CallGeneric(channel, name, *RequestOf(name, "eit-mixed"))), "PERMISSION_DENIED");
  }
  EXPECT_EQ(Serving().SerializeAsString(), before);
  const std::string index = "/inference.GRPCInferenceService/RepositoryIndex";
  const CallEnd refused = CallGeneric(Channel(server_->admin_address(), "operator"), index, *RequestOf(index, ""));
  EXPECT_EQ(Short(refused), "UNIMPLEMENTED");
  EXPECT_THAT(refused.status.error_message(), ::testing::HasSubstr("are answered on --listen"));
  for (const std::string& address : {server_->address(), server_->admin_address()}) {
    ReflectionRequest request;
    request.set_list_services("*");
    EXPECT_EQ(Short(CallGeneric(Channel(address, "operator"),
                                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request)),
              "UNIMPLEMENTED");
  }
}

// Returns the admin methods of all services.
std::vector<std::string> AdminMethods() {
  std::vector<std::string> methods;
  for (const MethodPolicy& row : kMethodPolicies) {
    if (row.access == Access::kAdmin) methods.emplace_back(row.method);
  }
  return methods;
}

// The calls name a served model, so a call that is wrongly allowed would change something.
TEST_F(AuthorizationTable, AnUnauthorizedAdminCallChangesNothing) {
  const std::vector<std::string> methods = AdminMethods();
  EXPECT_THAT(methods,
              IsSupersetOf({"/vitrine.v1.Admin/LoadModel", "/inference.GRPCInferenceService/RepositoryModelLoad",
                            "/inference.GRPCInferenceService/RepositoryModelUnload"}));
  const std::string before = Serving().SerializeAsString();
  int refused = 0;
  for (const TestCaller& caller : Callers()) {
    if (caller.role == "operator") continue;
    for (const std::string& method : methods) {
      const auto channel = Channel(server_->admin_address(), caller.certificate);
      const CallEnd end = CallGeneric(channel, method, *RequestOf(method, "eit-mixed"), caller.token);
      EXPECT_EQ(Short(end), caller.known ? "PERMISSION_DENIED" : "UNAUTHENTICATED") << method << caller.title;
      ++refused;
    }
  }
  EXPECT_EQ(Serving().SerializeAsString(), before);
  // The audit log has refusals, with the caller's name if it is known, but no token.
  std::istringstream lines(folder_.Read("audit"));
  int traced = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool unknown = absl::StrContains(line, "\"code\":\"UNAUTHENTICATED\"");
    traced += unknown || absl::StrContains(line, "\"code\":\"PERMISSION_DENIED\"") ? 1 : 0;
    EXPECT_EQ(absl::StrContains(line, "\"caller\":\"anonymous\""), unknown) << line;
    for (const auto& [name, token] : tokens_) EXPECT_FALSE(absl::StrContains(line, token)) << line;
  }
  EXPECT_EQ(traced, refused) << folder_.Read("audit").substr(0, 1000);
}

TEST_F(AuthorizationTable, ListsHaveOnlyModelsThatTheCallerMaySee) {
  const auto channel = Channel(server_->address(), "");
  const auto stub = v1::Registry::NewStub(channel);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + tokens_.at("reader"));
  v1::ListModelsResponse list;
  ASSERT_TRUE(stub->ListModels(&context, {}, &list).ok());
  ASSERT_EQ(list.versions_size(), 1);
  EXPECT_EQ(list.versions(0).model(), "eit-mixed");
}

}  // namespace
}  // namespace vitrine::testing
