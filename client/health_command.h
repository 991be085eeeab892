// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_HEALTH_COMMAND_H_
#define VITRINE_CLIENT_HEALTH_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/client.h"

namespace vitrine {

// Asks grpc.health.v1.Health about a service: "" is the server, "model/NAME" a model. Prints its state, a word a line.
// OK: it serves. UNAVAILABLE: nobody answers within connect_timeout; FAILED_PRECONDITION: it does not serve;
// NOT_FOUND: there is no such service. For the health check of a container: one call, no repetition.
absl::Status RunHealth(const ClientOptions& options, const std::string& service, std::ostream& out);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_HEALTH_COMMAND_H_
