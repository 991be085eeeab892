// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_REMOVE_H_
#define VITRINE_PUBLISH_REMOVE_H_

#include <string>

#include "absl/status/status.h"

namespace vitrine {

// What `vitrine-repo remove` and `vitrine-repo prune` share.
struct RemoveOptions {
  std::string repository;
  std::string which;           // "MODEL@VERSION", or "MODEL": all its versions; of prune "" (every model) or "MODEL"
  int keep = 1;                // prune: good versions of each model that stay, at least 1
  std::string serving_config;  // of the servers of the repository; empty: none
  std::string admin_state;
  bool dry_run = false;  // says what would be removed
  bool yes = false;      // removes without a question
};

// Removes a version, or all of a model. FAILED_PRECONDITION, with nothing removed: a file of a server names one of
// them, or nobody can be asked; NOT_FOUND: there is none.
absl::Status RemoveCommand(const RemoveOptions& options);

// Removes the versions that are older than the newest `keep` good ones of their model, or than as many as a policy
// keeps in memory. What a file of a server names stays, and so do folders that are not whole: these may be copies that
// have not ended. A version counts as good if every file has its digest.
absl::Status PruneCommand(const RemoveOptions& options);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_REMOVE_H_
