// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_HEALTH_COMMAND_H_
#define VITRINE_CLIENT_COMMANDS_HEALTH_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/lib/client.h"

namespace vitrine {

// Calls grpc.health.v1.Health for a service: "" is the server, "model/NAME" a model. Prints the state as one word.
// Makes one call without retry, for a container's health check. OK: the service serves. UNAVAILABLE: no connection
// within connect_timeout. DEADLINE_EXCEEDED: the connected server does not answer within another connect_timeout.
// FAILED_PRECONDITION: the service does not serve. NOT_FOUND: the server has no such service.
absl::Status RunHealth(const ClientOptions& options, const std::string& service, std::ostream& out);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_HEALTH_COMMAND_H_
