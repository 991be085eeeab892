// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_
#define VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_

#include <signal.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/process/service_manager.h"

namespace vitrine {

// Runs `vitrine-repo cache`, the program beside this one, and returns the repository that it prints. `cache` empty:
// models/ in CacheFolder(). Download and conversion happen in that process, so that the server never reads files of
// other formats. Its messages go to stderr. Tells `manager` that the start takes longer.
//
// NOT_FOUND: there is no vitrine-repo. INVALID_ARGUMENT: `models` are wrong, or no cache is known. FAILED_PRECONDITION:
// it failed, and its last line says why, or a signal ended it. CANCELLED: one of `signals`, which the caller blocks,
// arrived; the child is ended.
absl::StatusOr<std::string> ImportModels(const std::vector<std::string>& models, const std::string& cache,
                                         const sigset_t& signals, const ServiceManager& manager);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_
