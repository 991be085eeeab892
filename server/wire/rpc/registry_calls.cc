// SPDX-License-Identifier: Apache-2.0
// The calls of the Registry service.
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/model_description.h"
#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "server/wire/rpc/typed_calls.h"

namespace vitrine {
namespace {

constexpr int kMostSizes = 64;

// The multiply-adds of a picture at each of the sizes asked for.
absl::Status AddCosts(const v1::GetModelRequest& request, const VersionStatus& status, v1::ModelVersion& answer) {
  if (request.cost_of().empty()) return absl::OkStatus();
  if (request.cost_of_size() > kMostSizes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cost_of has ", request.cost_of_size(), " sizes; at most ", kMostSizes, " are told at a time"));
  }
  if (status.model == nullptr) {
    return absl::NotFoundError(absl::StrCat("model \"", status.id.model, "\" version ", status.id.version,
                                            " is not in memory, so that its cost is not known"));
  }
  const v1::ModelConfig& config = status.model->manifest.config();
  for (const v1::InputSize& size : request.cost_of()) {
    RETURN_IF_ERROR(status.model->description->GridFor(size.height(), size.width()).status());
    const WorkloadInput input{.height = size.height(), .width = size.width()};
    ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(config, input));
    v1::PictureCost& cost = *answer.add_costs();
    *cost.mutable_input() = size;
    cost.set_tokens(static_cast<int32_t>(TokensOf(config, input)));
    cost.set_macs(Macs(workload));
  }
  return absl::OkStatus();
}

struct ListMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/ListModels";
  using Request = v1::ListModelsRequest;
  using Response = v1::ListModelsResponse;

  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                   grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.registry_rpc.RequestListModels(context, bytes, writer, queue, queue, tag);
  }
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request&) {
    Response response;
    for (const VersionStatus& status : parts.registry.List()) {
      if (caller.MayUse(status.id.model)) *response.add_versions() = Describe(status, false);
    }
    return response;
  }
};

struct GetMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/GetModel";
  using Request = v1::GetModelRequest;
  using Response = v1::ModelVersion;

  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                   grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.registry_rpc.RequestGetModel(context, bytes, writer, queue, queue, tag);
  }
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    RETURN_IF_ERROR(CheckModel(caller, request.model()));
    auto version = request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
    if (!request.version_label().empty()) {
      const VersionWish wish{
          .version = version, .label = request.version_label(), .request_id = "", .visible = caller.models.get()};
      ASSIGN_OR_RETURN(const ModelHandle labelled, parts.registry.Route(request.model(), wish));
      version = labelled->id.version;
    }
    ASSIGN_OR_RETURN(const VersionStatus status, parts.registry.Get(request.model(), version, caller.models.get()));
    v1::ModelVersion answer = Describe(status, true);
    RETURN_IF_ERROR(AddCosts(request, status, answer));
    return answer;
  }
};

struct WatchModelsMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/WatchModels";
  using Request = v1::WatchModelsRequest;
  using Response = v1::ModelEvent;

  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                   grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue,
                   CompletionTag* tag) {
    parts.registry_rpc.RequestWatchModels(context, bytes, writer, queue, queue, tag);
  }
  static absl::Status Check(const Request& request) { return CheckAskedName("model", request.model()); }
  static uint64_t Subscribe(CallParts& parts, const Caller& caller, const Request& request,
                            std::function<void(const Response&)> listener) {
    return parts.registry.Subscribe(
        [model = request.model(), caller, listener = std::move(listener)](const Response& event) {
          const std::string& name = event.version().model();
          if ((model.empty() || model == name) && caller.MayUse(name)) listener(event);
        });
  }
  static void Unsubscribe(CallParts& parts, uint64_t id) { parts.registry.Unsubscribe(id); }
};

}  // namespace

void PostRegistryCalls(CallParts& parts, CallQueue& queue) {
  PostUnaryCall<PlainCall<ListMethod>>(parts, queue);
  PostUnaryCall<PlainCall<GetMethod>>(parts, queue);
  WatchCall<WatchModelsMethod>::Post(parts, queue);
}

}  // namespace vitrine
