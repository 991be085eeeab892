// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_SERVER_HEALTH_CHECK_H_
#define VITRINE_PROGRAMS_SERVER_HEALTH_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Asks /readyz of the health listener at HOST:PORT, in plaintext, whether its server serves. A container's health check
// runs this, so that an image needs no client. OK if it does, FAILED_PRECONDITION if it says that it does not,
// UNAVAILABLE if nobody answers within `patience`. SIGPIPE must be ignored.
absl::Status CheckHealth(const std::string& address, absl::Duration patience);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_SERVER_HEALTH_CHECK_H_
