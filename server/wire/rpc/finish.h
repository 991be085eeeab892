// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_FINISH_H_
#define VITRINE_SERVER_WIRE_RPC_FINISH_H_

#include <new>

#include "absl/status/status.h"
#include "server/process/out_of_memory.h"
#include "server/wire/rpc/grpc_status.h"

namespace vitrine {

// Calls finish(status), which ends a call over gRPC; without memory for that with a status that takes none, since its
// text is as short as a string may be that is not allocated. Never throws.
template <typename FinishCall>
void FinishWith(const absl::Status& status, FinishCall finish) {
  try {
    finish(ToGrpcStatus(status));
  } catch (const std::bad_alloc&) {
    CountOutOfMemory();
    finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory"));
  }
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_FINISH_H_
