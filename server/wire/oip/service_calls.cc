// SPDX-License-Identifier: Apache-2.0
// The calls of the Open Inference Protocol that are answered at once.
#include <string_view>

#include "base/status_macros.h"
#include "server/wire/http/address.h"
#include "server/wire/oip/describe.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/typed_calls.h"

namespace vitrine {
namespace {

// What every method of the service declares: its types, and how gRPC is asked for one.
#define VITRINE_OIP_METHOD(METHOD)                                                                                \
  static constexpr std::string_view kName = "/inference.GRPCInferenceService/" #METHOD;                           \
  using Request = inference::METHOD##Request;                                                                     \
  using Response = inference::METHOD##Response;                                                                   \
  static void Post(CallParts& parts, grpc::ServerContext* context, grpc::ByteBuffer* bytes,                       \
                   grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer, grpc::ServerCompletionQueue* queue, \
                   CompletionTag* tag) {                                                                          \
    parts.oip_rpc.Request##METHOD(context, bytes, writer, queue, queue, tag);                                     \
  }

struct ServerLiveMethod {
  VITRINE_OIP_METHOD(ServerLive)
  static absl::StatusOr<Response> Handle(CallParts&, const Request&) {
    Response response;
    response.set_live(true);
    return response;
  }
};

struct ServerReadyMethod {
  VITRINE_OIP_METHOD(ServerReady)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Request&) {
    Response response;
    response.set_ready(parts.health.WhyNotServing().empty());
    return response;
  }
};

struct ModelReadyMethod {
  VITRINE_OIP_METHOD(ModelReady)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    RETURN_IF_ERROR(CheckModel(caller, request.name()));
    Response response;
    const auto model = FindAddressed(parts.service, caller, request.name(), request.version());
    response.set_ready(model.ok() && parts.health.Serves((*model)->id));
    return response;
  }
};

struct ServerMetadataMethod {
  VITRINE_OIP_METHOD(ServerMetadata)
  static absl::StatusOr<Response> Handle(CallParts&, const Request&) { return ServerMetadata(); }
};

struct ModelMetadataMethod {
  VITRINE_OIP_METHOD(ModelMetadata)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    ASSIGN_OR_RETURN(const ModelHandle model, FindAddressed(parts.service, caller, request.name(), request.version()));
    return ModelMetadata(*model, parts.registry);
  }
};

struct ModelConfigMethod {
  VITRINE_OIP_METHOD(ModelConfig)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    ASSIGN_OR_RETURN(const ModelHandle model, FindAddressed(parts.service, caller, request.name(), request.version()));
    return ModelConfiguration(*model);
  }
};

struct ModelStatisticsMethod {
  VITRINE_OIP_METHOD(ModelStatistics)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    return Statistics(parts.registry, caller, request);
  }
};

struct RepositoryIndexMethod {
  VITRINE_OIP_METHOD(RepositoryIndex)
  static absl::StatusOr<Response> Handle(CallParts& parts, const Caller& caller, const Request& request) {
    return RepositoryIndex(parts.registry, caller, request.ready());
  }
};

// Refused by the one check: these belong to the admin listener, which has a service of its own.
absl::Status NotHere() {
  return absl::PermissionDeniedError("models are loaded and unloaded on the admin listener");
}

struct RepositoryModelLoadMethod {
  VITRINE_OIP_METHOD(RepositoryModelLoad)
  static absl::StatusOr<Response> Handle(CallParts&, const Request&) { return NotHere(); }
};

struct RepositoryModelUnloadMethod {
  VITRINE_OIP_METHOD(RepositoryModelUnload)
  static absl::StatusOr<Response> Handle(CallParts&, const Request&) { return NotHere(); }
};

#undef VITRINE_OIP_METHOD

}  // namespace

void PostOipCalls(CallParts& parts, CallQueue& queue) {
  PostUnaryCall<PlainCall<ServerLiveMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ServerReadyMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ModelReadyMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ServerMetadataMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ModelMetadataMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ModelConfigMethod>>(parts, queue);
  PostUnaryCall<PlainCall<ModelStatisticsMethod>>(parts, queue);
  PostUnaryCall<PlainCall<RepositoryIndexMethod>>(parts, queue);
  PostUnaryCall<PlainCall<RepositoryModelLoadMethod>>(parts, queue);
  PostUnaryCall<PlainCall<RepositoryModelUnloadMethod>>(parts, queue);
}

}  // namespace vitrine
