// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_WRONG_FOLDER_H_
#define VITRINE_REPOSITORY_WRONG_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// What a folder is that was named as a repository and in which ListVersions finds nothing, in one sentence with the way
// out: the folder of a model or of a version, one of repositories, source code, a copy that is not complete, or empty.
// It reads names alone. The same sentence as long as nothing changes.
std::string WhyNoVersions(const std::filesystem::path& root);

// FAILED_PRECONDITION if the folder holds source code and no version of a model: nobody wants a model among it.
absl::Status CheckNotSources(const std::filesystem::path& root);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_WRONG_FOLDER_H_
