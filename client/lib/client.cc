// SPDX-License-Identifier: Apache-2.0
#include "client/lib/client.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/lib/channel.h"
#include "client/lib/connect/address.h"
#include "client/lib/pipeline.h"
#include "client/lib/servers.h"
#include "client/lib/status.h"
#include "client/lib/traceparent.h"
#include "common/status_macros.h"
#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine {

struct Client::Connection {
  ClientOptions options;
  std::shared_ptr<Servers> servers;
};

namespace {

// Returns true if the local gRPC library, not the server, returned DEADLINE_EXCEEDED.
bool IsLocalDeadline(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) && status.message() == "Deadline Exceeded";
}

// Makes a unary call with retries. `method` is a method of the service's stub.
template <typename Response, typename Service, typename Method, typename Request>
absl::StatusOr<Response> Call(const ClientOptions& options, Servers& servers, Method method, const Request& request,
                              const std::string& traceparent) {
  absl::BitGen random;
  const absl::Time end = absl::Now() + options.deadline;
  for (int attempts = 1;; ++attempts) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(end));
    AddTraceparent(traceparent, context);
    Response response;
    const std::string token = servers.Token();
    const auto stub = Service::NewStub(servers.channel());
    absl::Status status = FromGrpc((stub.get()->*method)(&context, request, &response));
    if (status.ok()) return response;
    status = servers.Follow(std::move(status), token);
    if (IsLocalDeadline(status)) {
      status = absl::DeadlineExceededError(absl::StrCat("no answer within ", absl::FormatDuration(options.deadline)));
    }
    const auto delay = RetryDelay(status, attempts, end - absl::Now(), absl::Uniform(random, 0.0, 1.0), options.retry);
    if (!delay.has_value()) return status;
    absl::SleepFor(*delay);
  }
}

}  // namespace

absl::Status ClientOptions::Validate() const {
  ASSIGN_OR_RETURN(const ServerAddress parsed, ParseAddress(address));
  if (!parsed.hosts.empty() && tls.has_value() && tls->server_name.empty()) {
    return absl::InvalidArgumentError(
        "several servers over TLS need one name that is in all their certificates: the server name of the TLS options "
        "(--tls-server-name)");
  }
  if (deadline <= absl::ZeroDuration() || connect_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("deadline and connect_timeout must be positive");
  }
  if (max_in_flight < 1 || max_in_flight > 64) {
    return absl::InvalidArgumentError(absl::StrCat("max_in_flight is ", max_in_flight, ", must be 1 to 64"));
  }
  constexpr int64_t kLargest = int64_t{1} << 30;
  if (max_request_bytes < 1 || max_request_bytes > kLargest || max_response_bytes < 1 ||
      max_response_bytes > kLargest) {
    return absl::InvalidArgumentError("max_request_bytes and max_response_bytes must be 1 to 2^30");
  }
  if (tls.has_value() && tls->certificate_file.empty() != tls->key_file.empty()) {
    return absl::InvalidArgumentError("a client certificate and its key must be given together; one is missing");
  }
  if (!token.empty() && !token_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token was given, and another in ", token_file, "; give only one"));
  }
  if (!traceparent.empty()) RETURN_IF_ERROR(CheckTraceparent(traceparent).status());
  constexpr absl::Duration kShortestKeepalive = absl::Seconds(10);  // gRPC raises smaller values to this one
  if (keepalive != absl::ZeroDuration() && keepalive < kShortestKeepalive) {
    return absl::InvalidArgumentError(absl::StrCat("keepalive is ", absl::FormatDuration(keepalive),
                                                   ", must be 0 (never) or at least ",
                                                   absl::FormatDuration(kShortestKeepalive)));
  }
  return retry.Validate();
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ClientOptions& options) {
  RETURN_IF_ERROR(options.Validate());
  auto connection = std::make_unique<Connection>();
  connection->options = options;
  ASSIGN_OR_RETURN(connection->servers, Servers::Open(options));
  RETURN_IF_ERROR(WaitUntilConnected(connection->servers->channel(), options));
  return std::unique_ptr<Client>(new Client(std::move(connection)));
}

Client::Client(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Client::~Client() = default;

absl::StatusOr<v1::ClassifyResponse> Client::Classify(const v1::ClassifyRequest& request,
                                                      const std::string& traceparent) {
  const ClientOptions& options = connection_->options;
  if (!traceparent.empty()) RETURN_IF_ERROR(CheckTraceparent(traceparent).status());
  RETURN_IF_ERROR(CheckRequestSize(request, options));
  return Call<v1::ClassifyResponse, v1::Classifier>(options, *connection_->servers, &v1::Classifier::Stub::Classify,
                                                    request, traceparent.empty() ? options.traceparent : traceparent);
}

absl::Status Client::ClassifyMany(const RequestSource& next, const ResultSink& deliver) {
  return ClassifyTraced(next, [&](TracedResult traced) { deliver(traced.index, std::move(traced.result)); });
}

absl::Status Client::ClassifyTraced(const RequestSource& next, const TracedSink& deliver, InFlightLimit* limit,
                                    const std::function<bool()>& stop) {
  return Pipeline(*connection_->servers, connection_->options, next, deliver, limit, stop).Run();
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels() {
  return Call<v1::ListModelsResponse, v1::Registry>(connection_->options, *connection_->servers,
                                                    &v1::Registry::Stub::ListModels, v1::ListModelsRequest(),
                                                    connection_->options.traceparent);
}

absl::Status Client::WatchModels(const std::string& model,
                                 const std::function<bool(const v1::ModelEvent& event)>& changed) {
  grpc::ClientContext context;
  AddTraceparent(connection_->options.traceparent, context);
  v1::WatchModelsRequest request;
  request.set_model(model);
  const auto registry = v1::Registry::NewStub(connection_->servers->channel());
  const std::string token = connection_->servers->Token();
  const auto reader = registry->WatchModels(&context, request);
  v1::ModelEvent event;
  bool stopped = false;
  while (!stopped && reader->Read(&event)) stopped = !changed(event);
  if (stopped) context.TryCancel();
  const grpc::Status end = reader->Finish();
  return stopped ? absl::OkStatus() : connection_->servers->Follow(FromGrpc(end), token);
}

absl::StatusOr<v1::ModelVersion> Client::GetModel(const std::string& model, std::optional<int64_t> version) {
  v1::GetModelRequest request;
  request.set_model(model);
  if (version.has_value()) request.set_version(*version);
  return GetModel(request);
}

absl::StatusOr<v1::ModelVersion> Client::GetModel(const v1::GetModelRequest& request) {
  return Call<v1::ModelVersion, v1::Registry>(connection_->options, *connection_->servers,
                                              &v1::Registry::Stub::GetModel, request, connection_->options.traceparent);
}

}  // namespace vitrine
