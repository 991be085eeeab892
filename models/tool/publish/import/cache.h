// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

struct CacheOptions {
  std::string cache = {};                // folder of repositories; created if missing
  std::vector<std::string> models = {};  // "[NAME=]hf:ORG/NAME[@REVISION]" or "[NAME=]FOLDER"
};

// Returns "" for a model as in CacheOptions; else the error.
std::string FaultOfCachedModel(const std::string& text);

// Imports models into a repository of exactly these, one for each set of models in the cache, and prints its path. A
// model is imported again if the folder's files changed or the hub has another commit. If the hub does not answer, or
// $HF_HUB_OFFLINE is 1, the last import is used, and a line on stderr says so. Errors are those of an import, after the
// model's name; then no path is printed. A killed run leaves no incomplete version; the next one continues.
absl::Status CacheCommand(const CacheOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_
