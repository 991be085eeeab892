// SPDX-License-Identifier: Apache-2.0
// Services other than Classifier: registry, health and reflection.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/e2e/standard_services.pb.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/e2e/testing/standard_call.h"
#include "tests/paths.h"
#include "tests/without_rights.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using HealthCall = StandardCall<HealthRequest, HealthResponse>;
using ReflectionCall = StandardCall<ReflectionRequest, ReflectionResponse>;

std::unique_ptr<HealthCall> Watch(RunningServer& running, const std::string& service) {
  auto call = std::make_unique<HealthCall>(running.NewChannel(), "/grpc.health.v1.Health/Watch");
  HealthRequest request;
  request.set_service(service);
  EXPECT_TRUE(call->Write(request));
  EXPECT_TRUE(call->WritesDone());
  return call;
}

HealthResponse::Status Next(HealthCall& call) {
  HealthResponse response;
  EXPECT_TRUE(call.Read(&response));
  return response.status();
}

TEST(Health, SpeaksForTheServerForTheServiceAndForEachModel) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  const auto server = Watch(running, "");
  const auto service = Watch(running, "vitrine.v1.Classifier");
  const auto model = Watch(running, "model/mixed");
  const auto later = Watch(running, "model/later");
  EXPECT_EQ(Next(*server), HealthResponse::SERVING);
  EXPECT_EQ(Next(*service), HealthResponse::SERVING);
  EXPECT_EQ(Next(*model), HealthResponse::SERVING);
  EXPECT_EQ(Next(*later), HealthResponse::SERVICE_UNKNOWN);

  PublishModel(folder.path(), "later", FixedConfig());
  // Loading is NOT_SERVING; then it serves.
  HealthResponse::Status status = Next(*later);
  if (status == HealthResponse::NOT_SERVING) status = Next(*later);
  EXPECT_EQ(status, HealthResponse::SERVING);

  std::jthread drain([&] { running.server().Drain(); });
  EXPECT_EQ(Next(*server), HealthResponse::NOT_SERVING);
  EXPECT_EQ(Next(*service), HealthResponse::NOT_SERVING);
  EXPECT_EQ(Next(*model), HealthResponse::NOT_SERVING);
  drain.join();
}

TEST(Health, AModelWhoseOnlyVersionIsRefusedDoesNotServe) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "broken", MixedConfig());
  std::filesystem::remove(folder.path() / "broken" / "1" / "weights.safetensors");
  RunningServer running(folder.path());
  EXPECT_EQ(Next(*Watch(running, "model/broken")), HealthResponse::NOT_SERVING);
  const auto server = Watch(running, "");
  EXPECT_EQ(Next(*server), HealthResponse::NOT_SERVING);
  EXPECT_THAT(running.Get("/readyz"), StartsWith("HTTP/1.1 503 "));
  PublishModel(folder.path(), "good", MixedConfig());
  EXPECT_EQ(Next(*server), HealthResponse::SERVING) << "one bad model does not take the server down";
  EXPECT_THAT(running.Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(Next(*Watch(running, "model/broken")), HealthResponse::NOT_SERVING);
}

// The two say the same at every moment that can be compared.
TEST(Health, AnEmptyRepositoryIsReadyOnlyWhereThatIsAllowed) {
  const ScratchFolder folder;
  RunningServer running(folder.path());
  const auto server = Watch(running, "");
  EXPECT_EQ(Next(*server), HealthResponse::NOT_SERVING);
  EXPECT_EQ(Next(*Watch(running, "vitrine.v1.Classifier")), HealthResponse::NOT_SERVING);
  EXPECT_THAT(running.Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("is empty; publish a model")));

  ServerOptions options = TestOptions(folder.path());
  options.allow_empty = true;
  RunningServer waiting(options);
  EXPECT_EQ(Next(*Watch(waiting, "")), HealthResponse::SERVING);
  EXPECT_THAT(waiting.Get("/readyz"), StartsWith("HTTP/1.1 200 "));

  PublishModel(folder.path(), "mixed", MixedConfig());
  EXPECT_EQ(Next(*server), HealthResponse::SERVING);
  EXPECT_THAT(running.Get("/readyz"), StartsWith("HTTP/1.1 200 "));
}

TEST(Health, AFolderOfSourcesIsNoRepository) {
  RunningServer running(VITRINE_SOURCE "/models/repository");
  EXPECT_THAT(running.Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("is a folder of source code")));
  EXPECT_THAT(running.Get("/statusz"), HasSubstr("Not well: requests are not served"));
}

// Simulates a replica that starts with an unreadable volume.
TEST(Health, ARepositoryThatCannotBeReadIsNotReadyUntilItCan) {
  const ScratchFolder folder;
  const std::filesystem::path root = folder.path() / "repository";
  PublishModel(root, "mixed", MixedConfig());
  std::filesystem::permissions(root, std::filesystem::perms::none);
  std::unique_ptr<Server> server;
  {
    const WithoutRights without;
    auto started = Server::Start(TestOptions(root));
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
  }
  const auto page = [&](const char* path) {
    return HttpExchange(server->metrics_address(),
                        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  };
  EXPECT_TRUE(Eventually([&] { return page("/readyz").find("cannot be read") != std::string::npos; }));
  EXPECT_THAT(page("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(page("/metrics"), HasSubstr("\nvitrine_repository_readable 0"));
  std::filesystem::permissions(root, std::filesystem::perms::owner_all);
  EXPECT_TRUE(Eventually([&] { return page("/readyz").starts_with("HTTP/1.1 200 "); }));
}

TEST(Reflection, ListsTheServicesAndDescribesThem) {
  const ScratchFolder folder;
  RunningServer running(folder.path());
  ReflectionCall call(running.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  ReflectionRequest request;
  request.set_list_services("*");
  ASSERT_TRUE(call.Write(request));
  ReflectionResponse response;
  ASSERT_TRUE(call.Read(&response));
  std::set<std::string> services;
  for (const auto& service : response.services().service()) services.insert(service.name());
  EXPECT_THAT(services, IsSupersetOf({"vitrine.v1.Classifier", "vitrine.v1.Registry", "grpc.health.v1.Health"}));
  request.set_file_containing_symbol("vitrine.v1.Classifier");
  ASSERT_TRUE(call.Write(request));
  ASSERT_TRUE(call.Read(&response));
  ASSERT_GT(response.files().file_descriptor_size(), 0) << response.error().message();
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromString(response.files().file_descriptor(0)));
  EXPECT_EQ(file.name(), "vitrine/v1/classifier.proto");
  EXPECT_TRUE(call.WritesDone());
  EXPECT_TRUE(call.Finish().ok());
}

TEST(Registry, ListsGetsAndWatches) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "fixed", FixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext list_context;
  v1::ListModelsResponse list;
  ASSERT_TRUE(running.registry().ListModels(&list_context, {}, &list).ok());
  ASSERT_EQ(list.versions_size(), 2);
  EXPECT_EQ(list.versions(0).model(), "fixed") << "by name";
  EXPECT_EQ(list.versions(0).labels_size(), 0) << "labels are for GetModel";
  EXPECT_EQ(list.versions(1).state(), v1::READY);
  EXPECT_GT(list.versions(1).parameters(), 0);

  grpc::ClientContext get_context;
  v1::GetModelRequest get;
  get.set_model("fixed");
  v1::ModelVersion version;
  ASSERT_TRUE(running.registry().GetModel(&get_context, get, &version).ok());
  EXPECT_EQ(version.labels_size(), 10);
  EXPECT_EQ(version.layers(), 2);
  grpc::ClientContext unknown_context;
  get.set_model("cats");
  const grpc::Status unknown = running.registry().GetModel(&unknown_context, get, &version);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("cats"));

  grpc::ClientContext watch_context;
  v1::WatchModelsRequest watch;
  watch.set_model("mixed");
  const auto reader = running.registry().WatchModels(&watch_context, watch);
  v1::ModelEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.version().version(), 1);
  EXPECT_EQ(event.version().state(), v1::READY);
  PublishModel(folder.path(), "fixed", FixedConfig(), 2);  // another model than the watched one
  PublishModel(folder.path(), "mixed", MixedConfig(), 2);
  do {
    ASSERT_TRUE(reader->Read(&event));
    EXPECT_EQ(event.version().model(), "mixed");
  } while (event.version().version() != 2 || event.version().state() != v1::READY);
  std::jthread drain([&] { running.server().Drain(); });
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();
}

}  // namespace
}  // namespace vitrine::testing
