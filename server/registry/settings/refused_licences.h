// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_REFUSED_LICENCES_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_REFUSED_LICENCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Checks that no pattern of --refuse-licence is empty. INVALID_ARGUMENT names the flag.
absl::Status ValidateRefusedLicences(const std::vector<std::string>& patterns);

// Checks that no pattern of --refuse-licence matches the version's licence or a licence within it, as in "MIT AND
// CC-BY-NC-4.0". FAILED_PRECONDITION names version, licence and pattern. "*" matches any characters; case is ignored,
// and spaces and "_" equal "-". "none" and "unknown" match versions that state no licence.
absl::Status CheckLicence(const v1::Manifest& manifest, const std::vector<std::string>& patterns);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_REFUSED_LICENCES_H_
