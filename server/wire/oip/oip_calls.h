// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
#define VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_

#include "server/wire/rpc/calls.h"

namespace vitrine {

// Adds the methods of inference.GRPCInferenceService. `parts` outlive the server's calls.
void AddOipCalls(GrpcServer& server, CallParts& parts);
// The part of them that carries pictures.
void AddInferCalls(GrpcServer& server, CallParts& parts);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
