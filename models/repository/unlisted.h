// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_UNLISTED_H_
#define VITRINE_MODELS_REPOSITORY_UNLISTED_H_

#include <filesystem>
#include <string>
#include <vector>

#include "models/repository/repository.h"

namespace vitrine {

// Returns the folders with a manifest.textproto that are not in `listing`, which must be the result of
// ListRepository(root). These are folders whose name is not a positive integer ("m/v1", "m/01"), folders at the wrong
// depth ("x/m/1", "m"), and folders behind a symbolic link. Paths are relative to the root, sorted; "." is the root.
// Looks three levels deep, in at most 4,096 folders, and skips names that start with ".".
std::vector<std::string> UnlistedManifests(const std::filesystem::path& root, const Listing& listing);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_UNLISTED_H_
