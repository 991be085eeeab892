// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_RESOLVE_H_
#define VITRINE_SERVER_RESOLVE_H_

#include <string>

#include "absl/status/status.h"
#include "base/machine/machine.h"
#include "server/models/registry/device.h"
#include "server/options.h"

namespace vitrine {

// Fills in what a server takes from the machine that it is given: threads and their cores, whether they are pinned, and
// budgets of memory within their shares of its control group's limit. What was set by hand stays as it is. Pure.
ServerOptions Resolve(ServerOptions options, const Device& device, const Machine& machine);

// What was found and what came of it, in one line for the log. `resolved` comes from Resolve.
std::string DescribeMachine(const Machine& machine, const ServerOptions& resolved);

// Everything that can be known to be wrong before a port is opened or a model read, one line for each fault: flags, the
// repository, TLS files, tokens, policy, serving configuration, the folder of the port file.
absl::Status CheckConfiguration(const ServerOptions& options);

// Whether a server would find versions in its repository, or may be without. UNAVAILABLE: it cannot be read, or not in
// whole; FAILED_PRECONDITION: there are none, see WhyNoVersions.
absl::Status CheckRepository(const ServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_SERVER_RESOLVE_H_
