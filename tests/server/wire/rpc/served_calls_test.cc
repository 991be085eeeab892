// SPDX-License-Identifier: Apache-2.0
// Tests the calls of the clients' listener with fake streams: their answers, and the resources that they take and
// release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "inference/grpc_service.pb.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/stream_call.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"
#include "tests/server/wire/oip/infer_request.h"
#include "tests/server/wire/rpc/fake_stream.h"

namespace vitrine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vitrine::testing::FakeCall;

constexpr char kClassify[] = "/vitrine.v1.Classifier/Classify";
constexpr char kClassifyStream[] = "/vitrine.v1.Classifier/ClassifyStream";
constexpr char kInferStream[] = "/inference.GRPCInferenceService/ModelStreamInfer";

template <typename Message>
Message Parsed(const std::pair<bool, std::string>& message) {
  Message parsed;
  EXPECT_FALSE(message.first);
  EXPECT_TRUE(parsed.ParseFromString(message.second));
  return parsed;
}

class ServedCallsTest : public ::testing::Test {
 protected:
  explicit ServedCallsTest(const IdentityOptions& identity = {}) : identity_(*Identity::Open(identity)) {
    files_.Add("m", 1);
    model_->metrics = metrics_.ForModel("m");
    registry_.Poll();
    health_.SetServing();
    AddClassifierCalls(server_, parts_);
    AddRegistryCalls(server_, parts_);
    AddHealthCalls(server_, parts_);
    AddOipCalls(server_, parts_);
    AddReflectionCalls(server_, parts_);
    EXPECT_TRUE(server_.Start().ok());
    EXPECT_TRUE(parts_.workers.Start().ok());
  }

  static v1::ClassifyRequest Tensor(const std::string& id = "") {
    v1::ClassifyRequest request;
    request.set_model("m");
    request.set_request_id(id);
    v1::RawTensor& tensor = *request.mutable_tensor();
    tensor.set_data_type(v1::RawTensor::DATA_UINT8);
    tensor.set_height(8);
    tensor.set_width(8);
    tensor.set_channels(3);
    tensor.set_data(std::string(8 * 8 * 3, 'x'));
    return request;
  }

  // Ends the next request in the queue, as an executor would.
  void End(absl::StatusOr<v1::ClassifyResponse> answer) {
    std::optional<Batch> batch = scheduler_.NextBatch();
    ASSERT_TRUE(batch.has_value());
    ASSERT_EQ(batch->requests.size(), 1u);
    batch->requests.front()->Finish(std::move(answer));
  }

  static v1::ClassifyResponse Right() {
    v1::ClassifyResponse response;
    response.add_predictions()->set_index(3);
    return response;
  }

  // Makes a unary call and returns its answer.
  template <typename Response>
  absl::StatusOr<Response> Ask(const std::string& path, const google::protobuf::Message& request) {
    FakeCall call(server_, path);
    call.SendMessage(request);
    call.HalfClose();
    call.stream().AwaitEnd();
    if (call.stream().Value("grpc-status") != "0") {
      return absl::Status(static_cast<absl::StatusCode>(std::stoi(call.stream().Value("grpc-status"))),
                          call.stream().Value("grpc-message"));
    }
    return Parsed<Response>(call.stream().Messages().at(0));
  }

  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  const std::shared_ptr<LoadedModel> model_ = MakeLoaded("m", 1, SmallNativeConfig());
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [this](const VersionId&) { return ModelHandle(model_); },
                     clock_};
  Admission admission_{{.max_requests = 100}, clock_};
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  Health health_{registry_};
  const std::unique_ptr<Identity> identity_;
  CallParts parts_{.service = service_, .registry = registry_, .identity = *identity_, .health = health_};
  GrpcServer server_{{}, clock_};
};

TEST_F(ServedCallsTest, AnAnswerHoldsItsResourcesUntilItIsRead) {
  FakeCall call(server_, kClassify);
  call.SendMessage(Tensor("a"));
  call.HalfClose();
  EXPECT_EQ(admission_.load().requests, 1);
  End(Right());
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
  const auto message = call.stream().Messages().at(0);
  EXPECT_EQ(Parsed<v1::ClassifyResponse>(message).predictions(0).index(), 3);
  EXPECT_EQ(service_.ledger().in_flight(), 1) << "the client has not read the answer";
  EXPECT_EQ(admission_.load().requests, 1);
  EXPECT_EQ(admission_.answers().reserved(), static_cast<int64_t>(kGrpcPrefixBytes + message.second.size()))
      << "the real size counts, not the reserved one";
  call.stream().Take();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_EQ(admission_.answers().reserved(), 0);
  call.Close();
  EXPECT_FALSE(call.is_held());
}

TEST_F(ServedCallsTest, TheHeaderIsTheIdOfARequestWithoutOne) {
  for (const auto& [id, expected] : {std::pair("", "of-header"), std::pair("own", "own")}) {
    FakeCall call(server_, kClassify, {{"x-request-id", "of-header"}});
    call.SendMessage(Tensor(id));
    call.HalfClose();
    std::optional<Batch> batch = scheduler_.NextBatch();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->requests.front()->request.request_id(), expected);
    batch->requests.front()->Finish(Right());
  }
}

TEST_F(ServedCallsTest, AStreamLivesUntilItsRequestIsFinished) {
  FakeCall call(server_, kClassify);
  call.SendMessage(Tensor());
  call.HalfClose();
  std::optional<Batch> computing = scheduler_.NextBatch();
  call.Close();
  EXPECT_TRUE(call.is_held()) << "an executor still computes its request";
  computing->requests.front()->Finish(Right());
  computing.reset();
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
}

TEST_F(ServedCallsTest, AnErrorHasTheMessageOfTheService) {
  FakeCall call(server_, kClassify);
  call.Send(GrpcFrame(v1::ClassifyRequest()));
  call.HalfClose();
  EXPECT_TRUE(call.stream().is_trailers_only());
  EXPECT_EQ(call.stream().Value("grpc-status"), "3");
  EXPECT_THAT(metrics_.Text(), HasSubstr("method=\"Classify\",code=\"INVALID_ARGUMENT\"} 1"));
  FakeCall malformed(server_, kClassify);
  malformed.Send(std::string("\0\0\0\0\1\xff", 6));
  malformed.HalfClose();
  EXPECT_EQ(malformed.stream().Value("grpc-message"), "the message cannot be parsed as vitrine.v1.ClassifyRequest");
}

TEST_F(ServedCallsTest, TheDeadlineUsesTheSteadyClock) {
  FakeCall call(server_, kClassify, {{"grpc-timeout", "5S"}});
  clock_.Advance(absl::Seconds(6));
  call.SendMessage(Tensor());
  call.HalfClose();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
}

TEST_F(ServedCallsTest, AStreamAnswersInAnyOrderById) {
  FakeCall call(server_, kClassifyStream);
  for (const char* const id : {"a", "b", ""}) call.SendMessage(Tensor(id));
  call.SendMessage(Tensor("a"));
  call.HalfClose();
  EXPECT_EQ(call.stream().Messages().size(), 2u) << "errors are sent at once";
  EXPECT_FALSE(call.stream().has_ended());
  End(Right());
  End(absl::InvalidArgumentError("damaged"));
  std::vector<std::string> answers;
  for (const auto& message : call.stream().Messages()) {
    const auto answer = Parsed<v1::ClassifyStreamResponse>(message);
    answers.push_back(answer.request_id() + ":" + std::to_string(answer.error().code()));
  }
  EXPECT_THAT(answers, ElementsAre(":3", "a:3", "a:0", "b:3"));
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
  call.stream().Take();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
}

TEST_F(ServedCallsTest, ATooLongIdIsRefusedAndNotReturned) {
  const std::string id(129, 'x');
  FakeCall call(server_, kClassifyStream);
  call.SendMessage(Tensor(id));
  const auto answer = Parsed<v1::ClassifyStreamResponse>(call.stream().Messages().at(0));
  EXPECT_EQ(answer.request_id(), "");
  EXPECT_THAT(answer.error().message(), HasSubstr("request_id is 129 bytes long"));
  FakeCall oip(server_, kInferStream);
  inference::ModelInferRequest request;
  request.set_id(id);
  oip.SendMessage(request);
  EXPECT_EQ(Parsed<inference::ModelStreamInferResponse>(oip.stream().Messages().at(0)).infer_response().id(), "");
}

TEST_F(ServedCallsTest, AStreamStopsReadingIfItsClientDoesNotRead) {
  FakeCall call(server_, kClassifyStream);
  const size_t frame = GrpcFrame(Tensor("00")).size();
  for (int i = 0; i < 70; ++i) call.SendMessage(Tensor(std::to_string(i + 10)));
  EXPECT_EQ(admission_.load().requests, kMaxInFlight);
  EXPECT_EQ(call.stream().consumed(), kMaxInFlight * frame);
  for (int i = 0; i < kMaxInFlight; ++i) End(Right());
  EXPECT_EQ(call.stream().Messages().size(), static_cast<size_t>(kMaxInFlight));
  EXPECT_EQ(call.stream().consumed(), kMaxInFlight * frame) << "the client has not read an answer";
  call.stream().Take();
  for (int i = 0; i < 6; ++i) End(Right());
  EXPECT_EQ(call.stream().consumed(), 70 * frame);
  call.HalfClose();
  call.stream().AwaitEnd();
  EXPECT_EQ(call.stream().Messages().size(), 70u);
}

TEST_F(ServedCallsTest, ADrainingServerEndsAStreamAfterItsAnswers) {
  FakeCall call(server_, kClassifyStream);
  call.SendMessage(Tensor("a"));
  EXPECT_EQ(parts_.streams.open(), 1u);
  parts_.streams.CloseAll();
  call.SendMessage(Tensor("late"));
  EXPECT_FALSE(call.stream().has_ended());
  End(Right());
  EXPECT_EQ(call.stream().Messages().size(), 1u);
  EXPECT_EQ(call.stream().Value("grpc-status"), "14");
  call.Close();
  EXPECT_EQ(parts_.streams.open(), 0u);
  FakeCall next(server_, kClassifyStream);
  EXPECT_EQ(next.stream().Value("grpc-status"), "14") << "a new stream ends at once";
}

TEST_F(ServedCallsTest, ACallEndsWithItsDeadline) {
  FakeCall call(server_, kClassifyStream, {{"grpc-timeout", "5S"}});
  FakeCall unary(server_, kClassify, {{"grpc-timeout", "5S"}});
  FakeCall watch(server_, "/grpc.health.v1.Health/Watch", {{"grpc-timeout", "6S"}});
  call.SendMessage(Tensor("a"));
  watch.SendMessage(grpc::health::v1::HealthCheckRequest());
  watch.HalfClose();
  clock_.Advance(absl::Seconds(4));
  server_.EndExpiredCalls();
  for (FakeCall* const each : {&call, &unary, &watch}) EXPECT_FALSE(each->stream().has_ended());
  clock_.Advance(absl::Seconds(1));
  server_.EndExpiredCalls();
  EXPECT_EQ(call.stream().Value("grpc-status"), "4");
  EXPECT_EQ(unary.stream().Value("grpc-status"), "4") << "the call ends although its message has not arrived";
  scheduler_.Sweep();
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_FALSE(watch.stream().has_ended());
  clock_.Advance(absl::Seconds(1));
  server_.EndExpiredCalls();
  EXPECT_EQ(watch.stream().Value("grpc-status"), "4");
}

TEST_F(ServedCallsTest, AStreamDropsItsRequestsIfItsClientLeaves) {
  FakeCall call(server_, kClassifyStream);
  for (const char* const id : {"a", "b"}) call.SendMessage(Tensor(id));
  call.Close();
  scheduler_.Sweep();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_FALSE(call.is_held());
  EXPECT_EQ(parts_.streams.open(), 0u);
}

TEST_F(ServedCallsTest, OipStreamsAnswerInOrder) {
  FakeCall call(server_, kInferStream);
  auto request = testing::Request("UINT8", {1, 8, 8, 3}, std::string(8 * 8 * 3, 'x'));
  request.set_id("first");
  call.SendMessage(request);
  request.set_id("second");
  request.set_model_name("unknown");
  call.SendMessage(request);
  call.HalfClose();
  EXPECT_TRUE(call.stream().Messages().empty()) << "the second answer waits for the first";
  End(absl::UnavailableError("later"));
  const auto messages = call.stream().Messages();
  ASSERT_EQ(messages.size(), 2u);
  const auto first = Parsed<inference::ModelStreamInferResponse>(messages[0]);
  EXPECT_EQ(first.infer_response().id(), "first");
  EXPECT_EQ(first.error_message(), "UNAVAILABLE: later");
  EXPECT_EQ(Parsed<inference::ModelStreamInferResponse>(messages[1]).infer_response().id(), "second");
  EXPECT_EQ(call.stream().Value("grpc-status"), "0");
}

TEST_F(ServedCallsTest, HealthHasNamesOfServicesAndModels) {
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

TEST_F(ServedCallsTest, AWatchReportsChangesUntilItIsClosed) {
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

TEST_F(ServedCallsTest, AWatchThatIsNotReadIsEnded) {
  FakeCall call(server_, "/grpc.health.v1.Health/Watch");
  call.SendMessage(grpc::health::v1::HealthCheckRequest());
  call.HalfClose();
  for (int i = 0; i < 5000; ++i) health_.SetHung(i % 2 == 0 ? "hung" : "");
  EXPECT_EQ(call.stream().Messages().size(), 4096u);
  EXPECT_EQ(call.stream().Value("grpc-status"), "8");
}

TEST_F(ServedCallsTest, ModelsCanBeListedAndWatched) {
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

TEST_F(ServedCallsTest, LoadsOfModelsAreRefused) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      Ask<inference::RepositoryModelLoadResponse>("/inference.GRPCInferenceService/RepositoryModelLoad",
                                                  inference::RepositoryModelLoadRequest())
          .status()));
}

TEST_F(ServedCallsTest, ReflectionDescribesServicesAndFiles) {
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
