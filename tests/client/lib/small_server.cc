// SPDX-License-Identifier: Apache-2.0
#include "tests/client/lib/small_server.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/free_port.h"

namespace vitrine {

class SmallServer::ClassifierService final : public v1::Classifier::Service {
 public:
  explicit ClassifierService(const Methods& methods) : methods_(methods) {}

  grpc::Status Classify(grpc::ServerContext* context, const v1::ClassifyRequest* request,
                        v1::ClassifyResponse* response) override {
    return methods_.classify ? methods_.classify(*request, response, context)
                             : Service::Classify(context, request, response);
  }
  grpc::Status ClassifyStream(grpc::ServerContext* context, StreamOfServer* stream) override {
    return methods_.stream ? methods_.stream(stream, context) : Service::ClassifyStream(context, stream);
  }

 private:
  const Methods& methods_;
};

class SmallServer::RegistryService final : public v1::Registry::Service {
 public:
  explicit RegistryService(const Methods& methods) : methods_(methods) {}

  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    *response = methods_.models;
    return grpc::Status::OK;
  }
  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest* request, v1::ModelVersion* response) override {
    for (const v1::ModelVersion& version : methods_.models.versions()) {
      if (version.model() != request->model()) continue;
      if (request->has_version() ? version.version() != request->version() : version.state() != v1::READY) continue;
      const auto& labels = version.version_labels();
      if (!request->version_label().empty() && std::ranges::count(labels, request->version_label()) == 0) continue;
      *response = version;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "no model \"" + request->model() + "\""};
  }
  grpc::Status WatchModels(grpc::ServerContext* context, const v1::WatchModelsRequest* request,
                           grpc::ServerWriter<v1::ModelEvent>* writer) override {
    return methods_.watch ? methods_.watch(*request, writer, context) : Service::WatchModels(context, request, writer);
  }

 private:
  const Methods& methods_;
};

class SmallServer::HealthService final : public grpc::health::v1::Health::Service {
 public:
  explicit HealthService(const Methods& methods) : methods_(methods) {}

  grpc::Status Watch(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest*,
                     grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) override {
    grpc::health::v1::HealthCheckResponse response;
    response.set_status(*methods_.serving ? grpc::health::v1::HealthCheckResponse::SERVING
                                          : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    writer->Write(response);
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return grpc::Status::CANCELLED;
  }

 private:
  const Methods& methods_;
};

SmallServer::SmallServer(Methods methods, int max_message_bytes, std::shared_ptr<grpc::ServerCredentials> credentials,
                         const std::string& listen)
    : methods_(std::move(methods)),
      classifier_(std::make_unique<ClassifierService>(methods_)),
      registry_(std::make_unique<RegistryService>(methods_)),
      health_(std::make_unique<HealthService>(methods_)) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(listen, credentials == nullptr ? grpc::InsecureServerCredentials() : credentials, &port);
  builder.SetMaxReceiveMessageSize(max_message_bytes);
  builder.RegisterService(classifier_.get());
  builder.RegisterService(registry_.get());
  if (methods_.serving.has_value()) builder.RegisterService(health_.get());
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr) << "cannot listen at " << listen;
  address_ = listen.starts_with("unix:") ? listen : "127.0.0.1:" + std::to_string(port);
}

SmallServer::~SmallServer() {
  Stop();
}

void SmallServer::Stop() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

std::unique_ptr<Client> ConnectTo(const SmallServer& server, absl::Duration deadline, int max_in_flight) {
  ClientOptions options;
  options.address = server.address();
  options.deadline = deadline;
  options.max_in_flight = max_in_flight;
  options.retry.initial_backoff = absl::Milliseconds(5);
  options.retry.max_backoff = absl::Milliseconds(50);
  auto client = Client::Connect(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

v1::ClassifyResponse AnswerTo(const v1::ClassifyRequest& request) {
  v1::ClassifyResponse response;
  v1::Prediction& prediction = *response.add_predictions();
  prediction.set_index(std::atoi(request.image().c_str()));
  prediction.set_label("label " + request.image().substr(0, 8));
  prediction.set_probability(1);
  response.set_request_id(request.request_id());
  return response;
}

v1::ClassifyStreamResponse StreamAnswerTo(const v1::ClassifyRequest& request) {
  v1::ClassifyStreamResponse answer;
  answer.set_request_id(request.request_id());
  *answer.mutable_response() = AnswerTo(request);
  return answer;
}

std::string LastingAddress() {
  return absl::StrCat("127.0.0.1:", FreePort());
}

v1::ClassifyStreamResponse StreamErrorTo(const v1::ClassifyRequest& request, grpc::StatusCode code,
                                         const std::string& message, float retry_after) {
  v1::ClassifyStreamResponse answer;
  answer.set_request_id(request.request_id());
  answer.mutable_error()->set_code(code);
  answer.mutable_error()->set_message(message);
  answer.mutable_error()->set_retry_after(retry_after);
  return answer;
}

v1::ClassifyRequest RequestWith(const std::string& image, const std::string& id) {
  v1::ClassifyRequest request;
  request.set_model("m");
  request.set_image(image);
  request.set_request_id(id);
  return request;
}

grpc::Status WithRetryInfo(grpc::StatusCode code, const std::string& message, absl::Duration delay) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  info.mutable_retry_delay()->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(delay % absl::Seconds(1))));
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  status.add_details()->PackFrom(info);
  return {code, message, status.SerializeAsString()};
}

}  // namespace vitrine
