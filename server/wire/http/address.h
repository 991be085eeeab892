// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_
#define VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/identity/caller.h"
#include "server/models/registry/loaded_model.h"
#include "server/serve/request/classify_service.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// A request for that model and no picture. `version` is a number or a label; empty for the version that serves.
absl::StatusOr<v1::ClassifyRequest> AddressOf(const std::string& model, const std::string& version);

// The version of that address that would answer now, if the caller may use its model. Errors as CheckModel's,
// AddressOf's and ClassifyService::Find's, in this order.
absl::StatusOr<ModelHandle> FindAddressed(const ClassifyService& service, const Caller& caller,
                                          const std::string& model, const std::string& version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_ADDRESS_H_
