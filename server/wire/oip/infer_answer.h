// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_ANSWER_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_ANSWER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/wire/oip/infer_plan.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Parameters of the output "embedding": the digest of the weights that computed the vectors, and the number of patches
// of all images.
inline constexpr char kWeightsParameter[] = "weights_sha256";
inline constexpr char kTokensParameter[] = "tokens";

// Builds the answer to a ModelInfer request from `parts`, the answers to its images in order (at least one). Values are
// in raw_output_contents. INVALID_ARGUMENT: the attention maps of a batch have different sizes and form no tensor.
absl::StatusOr<inference::ModelInferResponse> MakeInferResponse(const std::vector<RequestedOutput>& outputs,
                                                                const std::vector<v1::ClassifyResponse>& parts);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_ANSWER_H_
