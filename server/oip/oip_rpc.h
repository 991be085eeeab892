// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OIP_OIP_RPC_H_
#define VITRINE_SERVER_OIP_OIP_RPC_H_

#include "inference/grpc_service.grpc.pb.h"

namespace vitrine {

// The service as it is registered. ModelInfer and ModelStreamInfer are raw, for the reasons of Classify; loading and
// unloading are left to gRPC's own refusal where nobody asks for them.
using OipService = inference::GRPCInferenceService;
using OipInfoRpc = OipService::WithAsyncMethod_ServerLive<
    OipService::WithAsyncMethod_ServerReady<OipService::WithAsyncMethod_ModelReady<
        OipService::WithAsyncMethod_ServerMetadata<OipService::WithAsyncMethod_ModelMetadata<
            OipService::WithAsyncMethod_ModelConfig<OipService::WithAsyncMethod_ModelStatistics<
                OipService::WithAsyncMethod_RepositoryIndex<OipService::WithAsyncMethod_RepositoryModelLoad<
                    OipService::WithAsyncMethod_RepositoryModelUnload<OipService::Service>>>>>>>>>>;
using OipRpc = OipService::WithRawMethod_ModelInfer<OipService::WithRawMethod_ModelStreamInfer<OipInfoRpc>>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_OIP_OIP_RPC_H_
