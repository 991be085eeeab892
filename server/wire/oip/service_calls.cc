// SPDX-License-Identifier: Apache-2.0
// The calls of the Open Inference Protocol whose requests have no image.
#include "common/status_macros.h"
#include "server/wire/oip/describe.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/single_call.h"

namespace vitrine {
namespace {

// Returns the error for the calls that load and unload models. Models can be loaded and unloaded only on the admin
// listener, which has its own service.
absl::Status NotHere() {
  return absl::PermissionDeniedError("models are loaded and unloaded on the admin listener");
}

absl::StatusOr<inference::ModelReadyResponse> ModelReady(const CallParts& parts, const Caller& caller,
                                                         const inference::ModelReadyRequest& request) {
  const absl::StatusOr<ModelName> named = ReadModelName(request.name());
  RETURN_IF_ERROR(CheckModel(caller, named.ok() ? named->model : request.name()));
  inference::ModelReadyResponse response;
  const auto found = FindNamed(parts.service, caller, request.name(), request.version());
  response.set_ready(found.ok() && parts.health.Serves(found->model->id));
  return response;
}

}  // namespace

// Adds the method METHOD. RESPONSE is the code of the method's handler, which may use `caller` and `request`.
#define VITRINE_OIP_METHOD(METHOD, WHERE, RESPONSE)                                                               \
  AddPlainCall<inference::METHOD##Request, inference::METHOD##Response>(                                          \
      server, parts, "/inference.GRPCInferenceService/" #METHOD, CallPlace::WHERE,                                \
      [&parts]([[maybe_unused]] const Caller& caller, [[maybe_unused]] const inference::METHOD##Request& request) \
          -> absl::StatusOr<inference::METHOD##Response> {                                                        \
        static_cast<void>(parts);                                                                                 \
        RESPONSE                                                                                                  \
      })

void AddOipCalls(GrpcServer& server, CallParts& parts) {
  AddInferCalls(server, parts);
  VITRINE_OIP_METHOD(ServerLive, kConnection, {
    inference::ServerLiveResponse response;
    response.set_live(true);
    return response;
  });
  VITRINE_OIP_METHOD(ServerReady, kConnection, {
    inference::ServerReadyResponse response;
    response.set_ready(parts.health.WhyNotServing().empty());
    return response;
  });
  VITRINE_OIP_METHOD(ModelReady, kConnection, { return ModelReady(parts, caller, request); });
  VITRINE_OIP_METHOD(ServerMetadata, kWorker, { return ServerMetadata(); });
  VITRINE_OIP_METHOD(ModelMetadata, kWorker, {
    ASSIGN_OR_RETURN(const FoundModel found, FindNamed(parts.service, caller, request.name(), request.version()));
    return ModelMetadata(found, parts.registry);
  });
  VITRINE_OIP_METHOD(ModelConfig, kWorker, {
    ASSIGN_OR_RETURN(const FoundModel found, FindNamed(parts.service, caller, request.name(), request.version()));
    return ModelConfiguration(found);
  });
  VITRINE_OIP_METHOD(ModelStatistics, kWorker, { return Statistics(parts.registry, caller, request); });
  VITRINE_OIP_METHOD(RepositoryIndex, kWorker, { return RepositoryIndex(parts.registry, caller, request.ready()); });
  VITRINE_OIP_METHOD(RepositoryModelLoad, kConnection, { return NotHere(); });
  VITRINE_OIP_METHOD(RepositoryModelUnload, kConnection, { return NotHere(); });
}

#undef VITRINE_OIP_METHOD

}  // namespace vitrine
