// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

struct CacheOptions {
  std::string cache = {};                // folder of repositories and downloads; created if missing
  std::vector<std::string> models = {};  // "[NAME=]hf:ORG/NAME[@REVISION]" or "[NAME=]FOLDER"
};

// Returns "" if `text` is a valid entry of CacheOptions::models; otherwise the error.
std::string FaultOfCachedModel(const std::string& text);

// Prints the path of a repository that has exactly the models of `options`. The cache has a repository for each source
// of a model, and a repository for each set of models. The repository of a set links to the newest versions of the
// set's models.
//
// A model is imported again if its files or the importer changed, the hub has another commit, or the last import is
// damaged. The last import is used, if there is one, in three cases: the hub fails in any way, the hub has a commit
// that cannot be imported, or $HF_HUB_OFFLINE is on. A line on stderr then says why. Returns all other errors of an
// import; the message begins with the model's folder or name on the hub. After an error, no path is printed. A killed
// run leaves no incomplete version; the next run continues.
absl::Status CacheCommand(const CacheOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CACHE_H_
