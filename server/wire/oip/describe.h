// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_
#define VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/identity/caller.h"
#include "server/models/registry/registry.h"
#include "server/wire/oip/tensor_view.h"

namespace vitrine {

// What the Open Inference Protocol tells about the server and its models. Thread-safe.
// The extension model_repository is not among what is announced: its loads belong to the admin listener.
inference::ServerMetadataResponse ServerMetadata();
// `registry` names the other versions that are ready.
absl::StatusOr<inference::ModelMetadataResponse> ModelMetadata(const FoundModel& found, const Registry& registry);
absl::StatusOr<inference::ModelConfigResponse> ModelConfiguration(const FoundModel& found);

// Every version that `caller` may use.
inference::RepositoryIndexResponse RepositoryIndex(const Registry& registry, const Caller& caller, bool ready_only);

// Of every ready version that `caller` may use; of one model or version where they are not empty. A view has the
// numbers of its model. NOT_FOUND where nothing that was named is ready, INVALID_ARGUMENT for a version that is no
// number.
absl::StatusOr<inference::ModelStatisticsResponse> Statistics(const Registry& registry, const Caller& caller,
                                                              const inference::ModelStatisticsRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_
