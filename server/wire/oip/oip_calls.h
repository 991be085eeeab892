// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
#define VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_

#include "server/wire/rpc/calls.h"

namespace vitrine {

// Adds the methods of inference.GRPCInferenceService. `parts` must outlive the server's calls.
void AddOipCalls(GrpcServer& server, CallParts& parts);
// Adds ModelInfer and ModelStreamInfer only.
void AddInferCalls(GrpcServer& server, CallParts& parts);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
