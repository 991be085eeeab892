// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_CHANNEL_H_
#define VITRINE_SERVER_TRACE_OTLP_CHANNEL_H_

#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "base/mutex.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"
#include "server/trace/otlp_options.h"
#include "server/trace/span_sink.h"

namespace vitrine {

// A collector that speaks OTLP over gRPC.
class OtlpChannel : public SpanSink {
 public:
  // `endpoint` as OtlpOptions has it, and valid. Connects when something is sent.
  OtlpChannel(const std::string& endpoint, OtlpHeaders headers);

  grpc::Status Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) override;
  void Cancel() override;

 private:
  const OtlpHeaders headers_;
  const std::unique_ptr<opentelemetry::proto::collector::trace::v1::TraceService::Stub> stub_;

  Mutex mutex_;
  grpc::ClientContext* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_CHANNEL_H_
