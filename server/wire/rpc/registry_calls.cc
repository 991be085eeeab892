// SPDX-License-Identifier: Apache-2.0
// Calls of the Registry service.
#include <functional>
#include <optional>

#include "common/status_macros.h"
#include "server/registry/version/version_costs.h"
#include "server/wire/rpc/single_call.h"

namespace vitrine {
namespace {

absl::StatusOr<EncodedMessage> Get(const Registry& registry, const Caller& caller, const v1::GetModelRequest& request) {
  RETURN_IF_ERROR(CheckModel(caller, request.model()));
  auto version = request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
  if (!request.version_label().empty()) {
    const VersionSelector requested{
        .version = version, .label = request.version_label(), .request_id = "", .visible = caller.models.get()};
    ASSIGN_OR_RETURN(const ModelHandle labelled, registry.Route(request.model(), requested));
    version = labelled->id.version;
  }
  ASSIGN_OR_RETURN(const VersionStatus status, registry.Get(request.model(), version, caller.models.get()));
  v1::ModelVersion answer = Describe(status);
  RETURN_IF_ERROR(AddCosts(request, status, answer));
  return EncodedMessage{SerializeWithLabels(answer, status)};
}

struct WatchModelsKind {
  static constexpr CallPlace kPlace = CallPlace::kWorker;
  using Request = v1::WatchModelsRequest;
  using Event = v1::ModelEvent;

  static absl::Status Check(const Request& request) { return CheckNameLength("model", request.model()); }
  static uint64_t Subscribe(CallParts& parts, const Caller& caller, const Request& request,
                            std::function<void(const Event&)> listener) {
    return parts.registry.Subscribe(
        [model = request.model(), caller, listener = std::move(listener)](const Event& event) {
          const std::string& name = event.version().model();
          if ((model.empty() || model == name) && caller.MayUse(name)) listener(event);
        });
  }
  static void Unsubscribe(CallParts& parts, uint64_t id) { parts.registry.Unsubscribe(id); }
};

}  // namespace

void AddRegistryCalls(GrpcServer& server, CallParts& parts) {
  AddPlainCall<v1::ListModelsRequest, v1::ListModelsResponse>(
      server, parts, "/vitrine.v1.Registry/ListModels", CallPlace::kWorker,
      [&registry = parts.registry](const Caller& caller, const v1::ListModelsRequest&) {
        v1::ListModelsResponse response;
        for (const VersionStatus& status : registry.ListForCallers()) {
          if (caller.MayUse(status.id.model)) *response.add_versions() = Describe(status);
        }
        return response;
      });
  AddPlainCall<v1::GetModelRequest, EncodedMessage>(
      server, parts, "/vitrine.v1.Registry/GetModel", CallPlace::kWorker,
      [&registry = parts.registry](const Caller& caller, const v1::GetModelRequest& request) {
        return Get(registry, caller, request);
      });
  WatchCall<WatchModelsKind>::AddTo(server, parts, "/vitrine.v1.Registry/WatchModels");
}

}  // namespace vitrine
