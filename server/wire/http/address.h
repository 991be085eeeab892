// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_
#define VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/identity/caller.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/request/classify_service.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Returns a request for `model`, without an image. `version` is a number, a label, or empty if the registry chooses the
// version. INVALID_ARGUMENT: version 0 or a number that is too large.
absl::StatusOr<v1::ClassifyRequest> AddressOf(const std::string& model, const std::string& version);

// Returns the version that now serves requests for `model` and `version` (as in AddressOf), if `caller` may use the
// model. For errors, see CheckModel, AddressOf and ClassifyService::Find, in this order.
absl::StatusOr<ModelHandle> FindAddressed(const ClassifyService& service, const Caller& caller,
                                          const std::string& model, const std::string& version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_
