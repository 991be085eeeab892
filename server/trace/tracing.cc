// SPDX-License-Identifier: Apache-2.0
#include "server/trace/tracing.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"

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

// A collector that speaks OTLP over gRPC.
class OtlpChannel : public SpanSink {
 public:
  // `endpoint` as OtlpOptions has it, and valid. Connects when something is sent.
  OtlpChannel(const std::string& endpoint, OtlpHeaders headers)
      : headers_(std::move(headers)), stub_(TraceService::NewStub(Connect(endpoint))) {}

  grpc::Status Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) override {
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

  void Cancel() override {
    MutexLock lock(mutex_);
    cancelled_ = true;
    if (running_ != nullptr) running_->TryCancel();
  }

 private:
  const OtlpHeaders headers_;
  const std::unique_ptr<TraceService::Stub> stub_;

  Mutex mutex_;
  grpc::ClientContext* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tracing>> Tracing::Open(const OtlpOptions& options, const Clock& clock,
                                                       HttpCodeOf http_code, const std::string& version) {
  if (options.endpoint.empty()) return nullptr;
  OtlpHeaders headers;
  if (!options.headers.empty()) {
    ASSIGN_OR_RETURN(headers, ReadOtlpHeaders(options.headers));
  }
  return absl::WrapUnique(new Tracing(options, std::make_unique<OtlpChannel>(options.endpoint, std::move(headers)),
                                      clock, http_code, version));
}

Tracing::Tracing(const OtlpOptions& options, std::unique_ptr<SpanSink> collector, const Clock& clock,
                 HttpCodeOf http_code, const std::string& version)
    : collector_(std::move(collector)),
      tracer_(options.sample, queue_, counters_),
      exporter_({.queue = queue_,
                 .sink = *collector_,
                 .counters = counters_,
                 .clock = clock,
                 .http_code = http_code,
                 .version = version}) {}

SpanTotals Tracing::Totals() const {
  return {.exported = counters_.exported.load(std::memory_order_relaxed),
          .full = counters_.full.load(std::memory_order_relaxed),
          .failed = counters_.failed.load(std::memory_order_relaxed)};
}

}  // namespace vitrine
