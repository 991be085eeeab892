// SPDX-License-Identifier: Apache-2.0
// The calls of the standard health service.
#include <functional>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/wire/rpc/health.h"
#include "server/wire/rpc/typed_calls.h"

namespace vitrine {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse ResponseOf(Health::Status status) {
  HealthCheckResponse response;
  response.set_status(status);
  return response;
}

struct CheckMethod {
  static constexpr std::string_view kName = "/grpc.health.v1.Health/Check";
  using Request = HealthCheckRequest;
  using Response = HealthCheckResponse;

  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                   grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.health_rpc.RequestCheck(context, bytes, writer, queue, queue, tag);
  }
  static absl::StatusOr<Response> Handle(CallParts& parts, const Request& request) {
    RETURN_IF_ERROR(CheckAskedName("service", request.service()));
    const std::optional<Health::Status> status = parts.health.Check(request.service());
    if (status.has_value()) return ResponseOf(*status);
    return absl::NotFoundError(absl::StrCat("there is no service \"", absl::CHexEscape(request.service()),
                                            "\"; there are \"\", \"vitrine.v1.Classifier\" and \"model/<name>\""));
  }
};

struct WatchHealthMethod {
  static constexpr std::string_view kName = "/grpc.health.v1.Health/Watch";
  using Request = HealthCheckRequest;
  using Response = HealthCheckResponse;

  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                   grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.health_rpc.RequestWatch(context, bytes, writer, queue, queue, tag);
  }
  static absl::Status Check(const Request& request) { return CheckAskedName("service", request.service()); }
  static uint64_t Subscribe(CallParts& parts, const Caller&, const Request& request,
                            std::function<void(const Response&)> listener) {
    return parts.health.Watch(
        request.service(), [listener = std::move(listener)](Health::Status status) { listener(ResponseOf(status)); });
  }
  static void Unsubscribe(CallParts& parts, uint64_t id) { parts.health.Unwatch(id); }
};

}  // namespace

void PostHealthCalls(CallParts& parts, CallQueue& queue) {
  PostUnaryCall<PlainCall<CheckMethod>>(parts, queue);
  WatchCall<WatchHealthMethod>::Post(parts, queue);
}

}  // namespace vitrine
