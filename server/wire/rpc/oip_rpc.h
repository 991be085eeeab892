// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OIP_RPC_H_
#define VITRINE_SERVER_WIRE_RPC_OIP_RPC_H_

#include "inference/grpc_service.grpc.pb.h"

namespace vitrine {

// The service as it is registered: raw, for the reasons of calls.h; loading and unloading are left to gRPC's own
// refusal where nobody asks for them.
using OipService = inference::GRPCInferenceService;
using OipInfoRpc =
    OipService::WithRawMethod_ServerLive<OipService::WithRawMethod_ServerReady<OipService::WithRawMethod_ModelReady<
        OipService::WithRawMethod_ServerMetadata<OipService::WithRawMethod_ModelMetadata<
            OipService::WithRawMethod_ModelConfig<OipService::WithRawMethod_ModelStatistics<
                OipService::WithRawMethod_RepositoryIndex<OipService::WithRawMethod_RepositoryModelLoad<
                    OipService::WithRawMethod_RepositoryModelUnload<OipService::Service>>>>>>>>>>;
using OipRpc = OipService::WithRawMethod_ModelInfer<OipService::WithRawMethod_ModelStreamInfer<OipInfoRpc>>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OIP_RPC_H_
