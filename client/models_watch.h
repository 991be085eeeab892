// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_MODELS_WATCH_H_
#define VITRINE_CLIENT_MODELS_WATCH_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/classify_command.h"

namespace vitrine {

// What `vitrine models watch` was asked to do.
struct WatchCommand {
  ClientOptions client;
  ModelChoice model = {};  // without a name all, without a version all of them; one that is not there is waited for
  Format format = Format::kTable;
  // Asked after each line whether to go on; empty: for ever.
  std::function<bool()> more = {};
};

// Writes a line for each version that the server has, then one for each change, until `more` ends it.
//
// A line in `errors` says that nothing of the chosen model is there yet. A server that goes away is waited for, which
// costs a line in `errors`; when it is back, what changed in between is told, and nothing twice. Returns an error where
// the first connection fails or the server refuses the call.
absl::Status WatchModels(const WatchCommand& command, std::ostream& out, std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_MODELS_WATCH_H_
