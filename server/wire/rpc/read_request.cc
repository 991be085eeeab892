// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/read_request.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

absl::StatusOr<v1::ClassifyRequest> ReadRequest(ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call) {
  if (!service.RefusesTheLate()) return ParseRequest(bytes);
  for (const size_t look : {kFirstLookBytes, kSecondLookBytes}) {
    std::optional<Outline> outline = OutlineOf(bytes, look);
    if (!outline.has_value()) break;
    const bool is_cut = outline->request.has_image() && outline->left_out > 0;
    const std::optional<absl::Status> foreseen = service.Foresee(outline->request, outline->left_out, call);
    if (foreseen.has_value() && !foreseen->ok()) {
      call.refusal = *foreseen;
      bytes.Clear();
      return std::move(outline->request);
    }
    if (foreseen.has_value() || !is_cut) break;
  }
  return ParseRequest(bytes);
}

}  // namespace vitrine
