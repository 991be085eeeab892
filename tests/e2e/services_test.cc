// SPDX-License-Identifier: Apache-2.0
// Tests the services Registry and health.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/e2e/standard_services.pb.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/e2e/testing/standard_call.h"
#include "tests/without_rights.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using HealthCall = StandardCall<HealthRequest, HealthResponse>;

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
  // NOT_SERVING is reported while the model loads, unless loading is too fast.
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
  EXPECT_THAT(running.Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("no version is ready")));
  PublishModel(folder.path(), "good", MixedConfig());
  EXPECT_EQ(Next(*server), HealthResponse::SERVING) << "one bad model does not take the server down";
  EXPECT_THAT(running.Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(Next(*Watch(running, "model/broken")), HealthResponse::NOT_SERVING);
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

TEST(Registry, WatchesOneModelUntilTheDrain) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "fixed", FixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext watch_context;
  v1::WatchModelsRequest watch;
  watch.set_model("mixed");
  const auto reader = running.registry().WatchModels(&watch_context, watch);
  v1::ModelEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.version().version(), 1);
  EXPECT_EQ(event.version().state(), v1::READY);
  PublishModel(folder.path(), "fixed", FixedConfig(), 2);  // not the model that is watched
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
