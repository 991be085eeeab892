// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_WIRE_RPC_SERVED_CALLS_H_
#define VITRINE_TESTS_SERVER_WIRE_RPC_SERVED_CALLS_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/calls.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"
#include "tests/server/wire/rpc/fake_stream.h"

namespace vitrine::testing {

template <typename Message>
Message Parsed(const std::pair<bool, std::string>& message) {
  Message parsed;
  EXPECT_FALSE(message.first);
  EXPECT_TRUE(parsed.ParseFromString(message.second));
  return parsed;
}

// Serves the calls of the gRPC port for clients over fake streams. There is one model, "m".
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
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_, {.requests = "failures"}};
  Health health_{registry_};
  const std::unique_ptr<Identity> identity_;
  CallParts parts_{.service = service_, .registry = registry_, .identity = *identity_, .health = health_};
  GrpcServer server_{{}, clock_};
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_WIRE_RPC_SERVED_CALLS_H_
