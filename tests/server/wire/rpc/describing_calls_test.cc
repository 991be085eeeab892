// SPDX-License-Identifier: Apache-2.0
// Tests the calls that describe the server, with fake streams: health, models and reflection.
#include <gmock/gmock.h>

#include <future>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "inference/grpc_service.pb.h"
#include "tests/server/wire/rpc/served_calls.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using vitrine::testing::FakeCall;
using vitrine::testing::Parsed;

class DescribingCallsTest : public vitrine::testing::ServedCallsTest {};

TEST_F(DescribingCallsTest, HealthHasNamesOfServicesAndModels) {
  grpc::health::v1::HealthCheckRequest request;
  for (const char* const name : {"", "vitrine.v1.Classifier", "vitrine.v1.Registry", "inference.GRPCInferenceService",
                                 "grpc.health.v1.Health", "model/m"}) {
    request.set_service(name);
    const auto answer = Ask<grpc::health::v1::HealthCheckResponse>("/grpc.health.v1.Health/Check", request);
    ASSERT_TRUE(answer.ok()) << name << answer.status();
    EXPECT_EQ(answer->status(), grpc::health::v1::HealthCheckResponse::SERVING) << name;
  }
  request.set_service("model/other");
  EXPECT_TRUE(
      absl::IsNotFound(Ask<grpc::health::v1::HealthCheckResponse>("/grpc.health.v1.Health/Check", request).status()));
}

TEST_F(DescribingCallsTest, AWatchReportsChangesUntilItIsClosed) {
  grpc::health::v1::HealthCheckRequest request;
  FakeCall call(server_, "/grpc.health.v1.Health/Watch");
  call.SendMessage(request);
  call.HalfClose();
  EXPECT_EQ(parts_.watches.open(), 1u);
  health_.SetHung("hung");
  health_.SetHung("");
  std::vector<int> heard;
  for (const auto& message : call.stream().Messages()) {
    heard.push_back(Parsed<grpc::health::v1::HealthCheckResponse>(message).status());
  }
  EXPECT_THAT(heard, ElementsAre(1, 2, 1));
  call.Close();
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(parts_.watches.open(), 0u);
}

TEST_F(DescribingCallsTest, AWatchThatIsNotReadIsEnded) {
  FakeCall call(server_, "/grpc.health.v1.Health/Watch");
  call.SendMessage(grpc::health::v1::HealthCheckRequest());
  call.HalfClose();
  for (int i = 0; i < 5000; ++i) health_.SetHung(i % 2 == 0 ? "hung" : "");
  EXPECT_EQ(call.stream().Messages().size(), 4096u);
  EXPECT_EQ(call.stream().Value("grpc-status"), "8");
}

TEST_F(DescribingCallsTest, ModelsCanBeListedAndWatched) {
  const auto listed = Ask<v1::ListModelsResponse>("/vitrine.v1.Registry/ListModels", v1::ListModelsRequest());
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->versions_size(), 1);
  v1::GetModelRequest get;
  get.set_model("m");
  EXPECT_EQ(Ask<v1::ModelVersion>("/vitrine.v1.Registry/GetModel", get)->version(), 1);
  get.set_model("other");
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::ModelVersion>("/vitrine.v1.Registry/GetModel", get).status()));
  FakeCall call(server_, "/vitrine.v1.Registry/WatchModels");
  call.SendMessage(v1::WatchModelsRequest());
  call.HalfClose();
  call.stream().AwaitMessages(1);
  EXPECT_EQ(Parsed<v1::ModelEvent>(call.stream().Messages().at(0)).version().model(), "m");
}

// These calls take longer with many models, so they must not delay the other requests of a connection's thread.
TEST_F(DescribingCallsTest, CallsAboutModelsWaitForAWorker) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::latch begun(2);
  for (int i = 0; i < 2; ++i) {  // Workers has two threads
    // A worker may still read the future after the test has ended, so each worker has its own copy.
    parts_.workers.Do("other", [&begun, gone] {
      begun.count_down();
      gone.wait();
    });
  }
  begun.wait();
  v1::GetModelRequest get;
  get.set_model("m");
  inference::ModelMetadataRequest metadata;
  metadata.set_name("m");
  inference::ModelConfigRequest config;
  config.set_name("m");
  std::vector<std::pair<std::string, std::unique_ptr<FakeCall>>> calls;
  const auto ask = [&](const std::string& path, const google::protobuf::Message& request) {
    FakeCall& call = *calls.emplace_back(path, std::make_unique<FakeCall>(server_, path)).second;
    call.SendMessage(request);
    call.HalfClose();
  };
  ask("/vitrine.v1.Registry/ListModels", v1::ListModelsRequest());
  ask("/vitrine.v1.Registry/GetModel", get);
  ask("/inference.GRPCInferenceService/ServerMetadata", inference::ServerMetadataRequest());
  ask("/inference.GRPCInferenceService/ModelMetadata", metadata);
  ask("/inference.GRPCInferenceService/ModelConfig", config);
  ask("/inference.GRPCInferenceService/ModelStatistics", inference::ModelStatisticsRequest());
  ask("/inference.GRPCInferenceService/RepositoryIndex", inference::RepositoryIndexRequest());
  EXPECT_TRUE(
      Ask<grpc::health::v1::HealthCheckResponse>("/grpc.health.v1.Health/Check", grpc::health::v1::HealthCheckRequest())
          .ok());
  for (const auto& [path, call] : calls) EXPECT_FALSE(call->stream().has_ended()) << path;
  go.set_value();
  for (const auto& [path, call] : calls) {
    call->stream().AwaitEnd();
    EXPECT_EQ(call->stream().Value("grpc-status"), "0") << path << call->stream().Value("grpc-message");
  }
}

TEST_F(DescribingCallsTest, LoadsOfModelsAreRefused) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      Ask<inference::RepositoryModelLoadResponse>("/inference.GRPCInferenceService/RepositoryModelLoad",
                                                  inference::RepositoryModelLoadRequest())
          .status()));
}

TEST_F(DescribingCallsTest, ReflectionDescribesServicesAndFiles) {
  FakeCall call(server_, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  const auto ask = [&](auto set) {
    grpc::reflection::v1::ServerReflectionRequest request;
    request.set_host("here");
    set(request);
    call.SendMessage(request);
  };
  ask([](auto& request) { request.set_list_services("*"); });
  ask([](auto& request) { request.set_file_containing_symbol("vitrine.v1.Classifier.Classify"); });
  ask([](auto& request) { request.set_file_by_filename("vitrine/v1/registry.proto"); });
  ask([](auto& request) { request.set_file_containing_symbol("nobody.Knows"); });
  ask([](auto& request) { request.set_all_extension_numbers_of_type("vitrine.v1.ClassifyRequest"); });
  call.HalfClose();
  call.stream().AwaitEnd();
  std::vector<grpc::reflection::v1::ServerReflectionResponse> answers;
  for (const auto& message : call.stream().Messages()) {
    answers.push_back(Parsed<grpc::reflection::v1::ServerReflectionResponse>(message));
  }
  ASSERT_EQ(answers.size(), 5u);
  std::vector<std::string> services;
  for (const auto& service : answers[0].list_services_response().service()) services.push_back(service.name());
  EXPECT_THAT(services, ElementsAre("grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                    "grpc.reflection.v1alpha.ServerReflection", "inference.GRPCInferenceService",
                                    "vitrine.v1.Classifier", "vitrine.v1.Registry"));
  EXPECT_EQ(answers[0].valid_host(), "here");
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromString(answers[1].file_descriptor_response().file_descriptor_proto(0)));
  EXPECT_EQ(file.name(), "vitrine/v1/classifier.proto");
  EXPECT_GT(answers[1].file_descriptor_response().file_descriptor_proto_size(), 1)
      << "the answer includes imported files";
  EXPECT_GE(answers[2].file_descriptor_response().file_descriptor_proto_size(), 1);
  EXPECT_EQ(answers[3].error_response().error_code(), 5);
  EXPECT_EQ(answers[4].all_extension_numbers_response().base_type_name(), "vitrine.v1.ClassifyRequest");
  FakeCall older(server_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_list_services("");
  older.SendMessage(request);
  older.stream().AwaitMessages(1);
  EXPECT_EQ(Parsed<grpc::reflection::v1alpha::ServerReflectionResponse>(older.stream().Messages().at(0))
                .list_services_response()
                .service_size(),
            6);
}

}  // namespace
}  // namespace vitrine
