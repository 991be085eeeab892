// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_MODELS_WATCH_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_MODELS_WATCH_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/commands/classify_command.h"

namespace vitrine {

// Arguments of `vitrine models watch`.
struct WatchCommand {
  ClientOptions client;
  ModelChoice model = {};  // default: all versions of all models; a missing model is awaited
  Format format = Format::kTable;
  // Called after each line; false ends the command. Empty: the command does not end by itself.
  std::function<bool()> more = {};
};

// Writes a line for each chosen version that the server has, then a line for each change, until `more` returns false.
//
// If the chosen model does not exist yet, `errors` gets a line. If the connection is lost, `errors` gets a line, the
// command reconnects, and then writes each version that has changed meanwhile. Returns an error if the first connection
// fails or the server rejects the call.
absl::Status WatchModels(const WatchCommand& command, std::ostream& out, std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_MODELS_WATCH_H_
