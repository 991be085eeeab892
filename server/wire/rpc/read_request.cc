// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/read_request.h"

#include <optional>
#include <utility>

#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

absl::StatusOr<v1::ClassifyRequest> ReadRequest(ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call) {
  if (!service.RefusesTheLate()) return ParseRequest(bytes);
  std::optional<v1::ClassifyRequest> outline = OutlineOf(bytes);
  if (!outline.has_value()) return ParseRequest(bytes);
  call.refusal = service.Foresee(*outline, call);
  if (call.refusal.ok()) return ParseRequest(bytes);
  bytes.Clear();
  return *std::move(outline);
}

}  // namespace vitrine
