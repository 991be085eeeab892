// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_
#define VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/identity/caller.h"
#include "server/registry/registry.h"
#include "server/wire/oip/tensor_view.h"

namespace vitrine {

// These functions return metadata of the server and its models for the Open Inference Protocol. Thread-safe.
// ServerMetadata does not list the extension model_repository, because load and unload are only on the admin listener.
inference::ServerMetadataResponse ServerMetadata();
// `registry` provides the list of ready versions.
absl::StatusOr<inference::ModelMetadataResponse> ModelMetadata(const FoundModel& found, const Registry& registry);
absl::StatusOr<inference::ModelConfigResponse> ModelConfiguration(const FoundModel& found);

// Returns the versions that `caller` may use; with `ready_only`, only the READY versions.
inference::RepositoryIndexResponse RepositoryIndex(const Registry& registry, const Caller& caller, bool ready_only);

// Returns the statistics of every model with a ready version that `caller` may use, or only of the named model. The
// statistics count all versions of a model together; their field `version` is the named version, otherwise the newest
// ready version. A tensor view (tensor_view.h) has the statistics of its model. NOT_FOUND: the named model has no ready
// version, or the named version is not ready. INVALID_ARGUMENT: the version is not a number.
absl::StatusOr<inference::ModelStatisticsResponse> Statistics(const Registry& registry, const Caller& caller,
                                                              const inference::ModelStatisticsRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_DESCRIBE_H_
