// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_CONNECTIONS_H_
#define VITRINE_CLIENT_LOAD_CONNECTIONS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/servers.h"

namespace vitrine {

using LoadConnections = std::vector<std::shared_ptr<Servers>>;

// Opens `count` separate connections to one server and waits until all are connected. Returns the errors of
// Servers::Open and WaitUntilConnected (client/lib/channel.h).
absl::StatusOr<LoadConnections> OpenConnections(const ClientOptions& options, int count);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_CONNECTIONS_H_
