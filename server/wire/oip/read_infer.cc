// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/read_infer.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "server/wire/oip/infer.h"
#include "server/wire/oip/infer_outline.h"
#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

absl::StatusOr<inference::ModelInferRequest> ReadInfer(ClassifyService& service, grpc::ByteBuffer& bytes,
                                                       CallContext& call) {
  if (!service.RefusesTheLate()) return ParseInferRequest(bytes);
  for (const size_t look : {kFirstLookBytes, kSecondLookBytes}) {
    std::optional<InferOutline> outline = InferOutlineOf(bytes, look);
    if (!outline.has_value()) break;
    const std::optional<absl::Status> foreseen = ForeseeInfer(service, *outline, call);
    if (foreseen.has_value() && !foreseen->ok()) {
      call.refusal = *foreseen;
      bytes.Clear();
      return std::move(outline->request);
    }
    if (foreseen.has_value() || !outline->is_picture || outline->left_out == 0) break;
  }
  return ParseInferRequest(bytes);
}

}  // namespace vitrine
