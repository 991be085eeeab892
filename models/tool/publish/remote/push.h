// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_PUSH_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_PUSH_H_

#include <string>

#include "absl/status/status.h"

namespace vitrine {

struct PushOptions {
  std::string repository;  // folder
  std::string which;       // "MODEL" or "MODEL@VERSION"
  std::string target;      // address of a remote repository
  std::string endpoint;    // see OpenRemote
};

// Verifies the digests of a version and stores it in the remote repository under the same number. Stores the files
// first and the manifest last, so that the version exists only once it is complete. Does nothing if the remote
// repository has the same version. ALREADY_EXISTS: it has another version with this number, or a file with other
// content; no file is replaced. After an interruption the same command continues.
absl::Status PushCommand(const PushOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_PUSH_H_
