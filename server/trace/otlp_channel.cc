// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace vitrine {
namespace {

using opentelemetry::proto::collector::trace::v1::TraceService;

// Between two attempts to connect, so that a collector that is back is found soon.
constexpr int kFirstReconnectMs = 250;
constexpr int kLongestReconnectMs = 5000;

std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) {
  absl::string_view address = endpoint;
  const bool is_tls = absl::ConsumePrefix(&address, "https://");
  if (!is_tls) absl::ConsumePrefix(&address, "http://");
  absl::ConsumeSuffix(&address, "/");
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(absl::StrCat("vitrine-server/", VITRINE_VERSION));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  return grpc::CreateCustomChannel(std::string(address),
                                   is_tls ? grpc::SslCredentials({}) : grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

OtlpChannel::OtlpChannel(const std::string& endpoint, OtlpHeaders headers)
    : headers_(std::move(headers)), stub_(TraceService::NewStub(Connect(endpoint))) {}

grpc::Status OtlpChannel::Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) {
  grpc::ClientContext context;
  for (const auto& [name, value] : headers_) context.AddMetadata(name, value);
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  {
    MutexLock lock(mutex_);
    if (cancelled_) return {grpc::StatusCode::CANCELLED, "the server ends"};
    running_ = &context;
  }
  const grpc::Status status = stub_->Export(&context, request, &response);
  MutexLock lock(mutex_);
  running_ = nullptr;
  return status;
}

void OtlpChannel::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (running_ != nullptr) running_->TryCancel();
}

}  // namespace vitrine
