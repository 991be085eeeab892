// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_READINGS_H_
#define VITRINE_SERVER_PAGES_READINGS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/models/registry/version_status.h"
#include "server/observe/metrics.h"

namespace vitrine {

// What the parts of the server say, as Metrics::Sources wants it.
std::vector<ShownVersion> ReadVersions(const std::vector<VersionStatus>& versions);
// Listeners that show the certificate, and its end; none without TLS or an identity. `admin_address` is empty where
// there is no such listener; a unix socket shows none.
std::vector<std::pair<std::string, absl::Time>> ReadCertificates(const Identity* identity,
                                                                 const std::string& admin_address);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_READINGS_H_
