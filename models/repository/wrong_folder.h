// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_
#define VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Explains in one sentence why ListVersions finds no version in a folder, and what to do. For example, it is the folder
// of a model or a version, a folder of repositories, source code, an incomplete copy, the copy of an empty remote
// repository, or empty. Reads only names of files and folders, and in a copy the file with the address of its source.
std::string ExplainNoVersions(const std::filesystem::path& root);

// FAILED_PRECONDITION if the folder contains source code and no version of a model. This keeps models out of source
// trees.
absl::Status CheckNotSources(const std::filesystem::path& root);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_
