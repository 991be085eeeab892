// The calls of the Registry service.
#include <functional>
#include <optional>

#include "base/status_macros.h"
#include "server/typed_calls.h"

namespace vitrine {
namespace {

struct ListMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/ListModels";
  using Request = v1::ListModelsRequest;
  using Response = v1::ListModelsResponse;

  static void Post(CallParts& parts, grpc::ServerContext* context, Request* request,
                   grpc::ServerAsyncResponseWriter<Response>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.registry_rpc.RequestListModels(context, request, writer, queue, queue, tag);
  }
  static absl::StatusOr<Response> Handle(CallParts& parts, const Request&) {
    Response response;
    for (const VersionStatus& status : parts.registry.List()) *response.add_versions() = Describe(status, false);
    return response;
  }
};

struct GetMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/GetModel";
  using Request = v1::GetModelRequest;
  using Response = v1::ModelVersion;

  static void Post(CallParts& parts, grpc::ServerContext* context, Request* request,
                   grpc::ServerAsyncResponseWriter<Response>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.registry_rpc.RequestGetModel(context, request, writer, queue, queue, tag);
  }
  static absl::StatusOr<Response> Handle(CallParts& parts, const Request& request) {
    const auto version = request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
    ASSIGN_OR_RETURN(const VersionStatus status, parts.registry.Get(request.model(), version));
    return Describe(status, true);
  }
};

struct WatchMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/WatchModels";
  using Request = v1::WatchModelsRequest;
  using Response = v1::ModelEvent;

  static void Post(CallParts& parts, grpc::ServerContext* context, Request* request,
                   grpc::ServerAsyncWriter<Response>* writer, grpc::ServerCompletionQueue* queue, CompletionTag* tag) {
    parts.registry_rpc.RequestWatchModels(context, request, writer, queue, queue, tag);
  }
  static uint64_t Subscribe(CallParts& parts, const Request& request, std::function<void(const Response&)> listener) {
    return parts.registry.Subscribe([model = request.model(), listener = std::move(listener)](const Response& event) {
      if (model.empty() || model == event.version().model()) listener(event);
    });
  }
  static void Unsubscribe(CallParts& parts, uint64_t id) { parts.registry.Unsubscribe(id); }
};

}  // namespace

void PostRegistryCalls(CallParts& parts, CallQueue& queue) {
  PlainCall<ListMethod>::Post(parts, queue);
  PlainCall<GetMethod>::Post(parts, queue);
  WatchCall<WatchMethod>::Post(parts, queue);
}

}  // namespace vitrine
