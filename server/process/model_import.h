// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_
#define VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_

#include <signal.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/process/service_manager.h"

namespace vitrine {

// Runs `vitrine-repo cache` from the folder of this program, and returns the path of the repository, which that program
// prints. If `cache` is empty, the repository is models/ in CacheFolder(). The child process downloads and converts
// the models, so that the server itself never reads model files of other formats. The child's messages go to stderr.
// Extends the start timeout of `manager`.
//
// NOT_FOUND: vitrine-repo cannot be started. INVALID_ARGUMENT: `models` is not valid, or both `cache` and CacheFolder()
// are empty. FAILED_PRECONDITION: the child failed (its last line says why), or a signal ended the child. CANCELLED:
// SIGTERM or SIGINT arrived, and the child was ended. The caller must have blocked `signals`.
absl::StatusOr<std::string> ImportModels(const std::vector<std::string>& models, const std::string& cache,
                                         const sigset_t& signals, const ServiceManager& manager);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_MODEL_IMPORT_H_
