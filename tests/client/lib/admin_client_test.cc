// SPDX-License-Identifier: Apache-2.0
// Tests the client's calls that read or change the serving state, and the output of the admin commands. A fake Admin
// service answers the calls.
#include "client/lib/admin_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/time/clock.h"
#include "client/commands/models/models_admin.h"
#include "tests/scratch_folder.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine {
namespace {

// A fake Admin service. A load of the model "slow" lasts until the client cancels it. Every label is unknown, and only
// the token "new" may call ResetServing. The test sets the serving state that the service returns.
class AdminServer final : public v1::Admin::Service {
 public:
  AdminServer() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    options.address = "127.0.0.1:" + std::to_string(port);
  }
  ~AdminServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status LoadModel(grpc::ServerContext* context, const v1::LoadModelRequest* request,
                         v1::ServingChange* answer) override {
    while (request->model() == "slow" && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    answer->mutable_serving()->set_model(request->model());
    answer->mutable_serving()->set_stable_version(request->version());
    answer->mutable_serving()->set_unloaded(true);
    answer->add_notes("version 2 was\x1b put away");
    answer->add_notes("and 1 as well");
    return grpc::Status::OK;
  }
  grpc::Status SetLabel(grpc::ServerContext*, const v1::SetLabelRequest* request, v1::ServingChange*) override {
    return {grpc::StatusCode::NOT_FOUND, "no label \"" + request->label() + "\""};
  }
  grpc::Status ResetServing(grpc::ServerContext* context, const v1::ResetServingRequest*, v1::ServingChange*) override {
    const auto sent = context->client_metadata().find("authorization");
    if (sent != context->client_metadata().end() && sent->second == "Bearer new") return grpc::Status::OK;
    return {grpc::StatusCode::UNAUTHENTICATED, "who are you?"};
  }
  grpc::Status GetServing(grpc::ServerContext* context, const v1::GetServingRequest* request,
                          v1::ServingStatus* answer) override {
    while (request->model() == "slow" && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    if (request->model() == "none") return {grpc::StatusCode::NOT_FOUND, "no model \"none\""};
    *answer = status;
    if (!request->model().empty()) answer->mutable_models(0)->set_model(request->model());
    return grpc::Status::OK;
  }

  ClientOptions options;
  v1::ServingStatus status;

 private:
  std::unique_ptr<grpc::Server> server_;
};

v1::LoadModelRequest Load(const std::string& model) {
  v1::LoadModelRequest request;
  request.set_model(model);
  request.set_version(3);
  return request;
}

constexpr char kUnloaded[] = "  unloaded   no version is in memory; load it again with vitrine admin load\n";

TEST(AdminClient, ReturnsTheServersErrorsAndExplainsATimeout) {
  AdminServer server;
  server.options.deadline = absl::Milliseconds(100);
  const auto client = AdminClient::Connect(server.options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Make(Load("slow")).status(),
            absl::DeadlineExceededError(
                "the server did not finish the change within 100ms; it may still finish: see vitrine admin serving"));
  v1::SetLabelRequest label;
  label.set_label("eu");
  EXPECT_EQ((*client)->Make(label).status(), absl::NotFoundError("no label \"eu\""));
  v1::GetServingRequest slow;
  slow.set_model("slow");
  EXPECT_EQ((*client)->GetServing(slow).status(), absl::DeadlineExceededError("no answer within 100ms"));
  server.options.max_in_flight = 0;
  EXPECT_EQ(AdminClient::Connect(server.options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AdminClient, RereadsTheTokenFileAfterARefusal) {
  AdminServer server;
  const ScratchFolder folder;
  server.options.token_file = folder.Write("token", "old").string();
  const auto client = AdminClient::Connect(server.options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Make(v1::ResetServingRequest()).status(), absl::UnauthenticatedError("who are you?"));
  folder.Write("token", "new");
  EXPECT_EQ((*client)->Make(v1::ResetServingRequest()).status(), absl::OkStatus());
}

TEST(RunAdminChange, PrintsTheServingStateAndSeparatelyTheNotes) {
  AdminServer server;
  std::ostringstream out, errors;
  EXPECT_EQ(RunAdminChange(server.options, Load("m"), Format::kTable, out, errors), absl::OkStatus());
  EXPECT_EQ(out.str(), std::string("m\n") + kUnloaded);
  EXPECT_EQ(errors.str(), "vitrine: version 2 was? put away\nvitrine: and 1 as well\n");
  out.str("");
  errors.str("");
  EXPECT_EQ(RunAdminChange(server.options, Load("m"), Format::kJson, out, errors), absl::OkStatus());
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["serving"]["stable_version"], "3");
  EXPECT_EQ(json["notes"].size(), 2u);
  EXPECT_EQ(errors.str(), "");
}

TEST(RunServing, PrintsEveryModelAndWhereChangesAreStored) {
  AdminServer server;
  const auto told = [&](const std::string& model = "") {
    std::ostringstream out;
    EXPECT_EQ(RunServing(server.options, model, Format::kTable, out), absl::OkStatus());
    return out.str();
  };
  EXPECT_EQ(told(),
            "the server has no models\n"
            "\nweights in memory: 0.0 MB"
            "\nserving config: none\n"
            "changes are kept in: memory, lost when the server ends (--admin-state of vitrine-server keeps them)\n");
  server.status.set_memory_bytes(12'340'000);
  server.status.set_max_memory_bytes(2'000'000'000);
  server.status.set_serving_config("serving.textproto");
  server.status.set_serving_config_fault("line 3 is none");
  server.status.set_admin_state("/var/state");
  for (const char* model : {"a", "b"}) {
    server.status.add_models()->set_model(model);
    server.status.mutable_models(server.status.models_size() - 1)->set_unloaded(true);
  }
  const std::string rest =
      "\nweights in memory: 12.3 MB of at most 2000.0 MB"
      "\nserving config: serving.textproto\n"
      "  its current content is not used: line 3 is none\n"
      "changes are kept in: /var/state\n";
  EXPECT_EQ(told(), std::string("a\n") + kUnloaded + "b\n" + kUnloaded + rest);
  EXPECT_EQ(told("c").substr(0, 2), "c\n") << "the output must start with the requested model";
  std::ostringstream out;
  EXPECT_EQ(RunServing(server.options, "none", Format::kTable, out), absl::NotFoundError("no model \"none\""));
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(RunServing(server.options, "", Format::kJson, out), absl::OkStatus());
  EXPECT_EQ(nlohmann::json::parse(out.str())["models"].size(), 2u);
}

}  // namespace
}  // namespace vitrine
