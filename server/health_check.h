// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_HEALTH_CHECK_H_
#define VITRINE_SERVER_HEALTH_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Checks that a server is serving: gets /readyz of its health listener at `address` (HOST:PORT) in plaintext. The
// health check of a container calls this function, so the container needs no HTTP client. FAILED_PRECONDITION: the
// server reports that it is not ready. UNAVAILABLE: no valid answer within `patience`. INVALID_ARGUMENT: `address` is
// not HOST:PORT. The process must ignore SIGPIPE.
absl::Status CheckHealth(const std::string& address, absl::Duration patience);

}  // namespace vitrine

#endif  // VITRINE_SERVER_HEALTH_CHECK_H_
