// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_READY_MODEL_H_
#define VITRINE_CLIENT_EVAL_RUN_READY_MODEL_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/commands/image_run.h"
#include "client/lib/client.h"
#include "common/charts/progress_display.h"

namespace vitrine {

// Connects and returns the chosen version, with its labels, once it is ready. Retries the connection until the connect
// timeout, unless TLS fails for a lasting cause (IsLasting in client/lib/channel.h). Waits up to `patience` for a
// loading model or a restarting server. Prints the cause of each wait on `display`. Stops waiting once `*stop` is true.
// Returns the errors of Client::Connect and ChooseModel. FAILED_PRECONDITION: the version is not ready. CANCELLED:
// stopped.
absl::StatusOr<std::pair<std::unique_ptr<Client>, v1::ModelVersion>> AwaitModel(
    const ClientOptions& options, const ModelChoice& choice, absl::Duration patience, ProgressDisplay& display,
    const std::atomic<bool>* stop = nullptr);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_READY_MODEL_H_
