// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOVE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOVE_H_

#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Options of `vitrine-repo remove` and `vitrine-repo prune`.
struct RemoveOptions {
  std::string repository;
  std::string which;  // "MODEL@VERSION", or "MODEL" for all its versions. For prune: "MODEL", or "" for every model
  int keep = 1;       // prune: valid versions to keep per model, at least 1
  std::string serving_config;  // serving config of the repository's servers; empty: none
  std::string admin_state;
  bool dry_run = false;  // only print the versions that would be removed
  bool yes = false;      // do not ask for confirmation
};

// Removes a version, or all versions of a model. FAILED_PRECONDITION if `serving_config` or `admin_state` names one of
// these versions, or if stdin is no terminal for the confirmation; CANCELLED if the user declines; NOT_FOUND: no such
// version. In these cases, nothing is removed.
absl::Status RemoveCommand(const RemoveOptions& options);

// Keeps the newest valid versions of each model and removes older versions. The number to keep is the larger of `keep`
// and the number of versions that the version policy loads; if the policy loads all versions, none is removed. A
// version does not count if Pins::IsApart is true for it, or if a file differs from its digest. Keeps versions that
// `serving_config` or `admin_state` names, and folders without a manifest, which may be unfinished copies.
absl::Status PruneCommand(const RemoveOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOVE_H_
