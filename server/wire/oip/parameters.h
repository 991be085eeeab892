// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_PARAMETERS_H_
#define VITRINE_SERVER_WIRE_OIP_PARAMETERS_H_

#include <google/protobuf/map.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"

namespace vitrine {

// Parameters of a request, an input or an output of the Open Inference Protocol. The functions that read them return
// nullopt if a parameter is absent, and INVALID_ARGUMENT if the parameter has another type.
using InferParameters = google::protobuf::Map<std::string, inference::InferParameter>;

absl::StatusOr<std::optional<int64_t>> WholeNumber(const InferParameters& parameters, const std::string& name);
absl::StatusOr<std::optional<bool>> Truth(const InferParameters& parameters, const std::string& name);
absl::StatusOr<std::optional<std::string>> Text(const InferParameters& parameters, const std::string& name);

// Checks the parameter names. INVALID_ARGUMENT: a name is not in `known`. UNIMPLEMENTED: a parameter requests shared
// memory. The error message begins with `whose`, for example "the request" or "input \"image\"".
absl::Status CheckNames(const InferParameters& parameters, std::string_view whose,
                        std::initializer_list<std::string_view> known);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_PARAMETERS_H_
