// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_
#define VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Explains in one sentence why ListVersions finds no version in a folder, and what to do. For example, the folder
// belongs to a model or a version, contains repositories or source code, is an incomplete copy or the copy of an empty
// remote repository, or is empty. Reads only the names of files and folders; in a copy of a remote repository, also the
// file kRefreshedFile.
std::string ExplainNoVersions(const std::filesystem::path& root);

// Returns FAILED_PRECONDITION if the folder contains source code and no version of a model. This keeps models out of
// source trees.
absl::Status CheckNotSources(const std::filesystem::path& root);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_WRONG_FOLDER_H_
