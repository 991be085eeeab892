// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
#define VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_

#include "server/wire/rpc/calls.h"

namespace vitrine {

// Calls of inference.GRPCInferenceService; see calls.h for what posting means.
void PostModelInfer(CallParts& parts, CallQueue& queue);
void PostModelStreamInfer(CallParts& parts, CallQueue& queue);
// One of each other method.
void PostOipCalls(CallParts& parts, CallQueue& queue);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_OIP_CALLS_H_
