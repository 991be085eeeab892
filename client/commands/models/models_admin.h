// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_MODELS_ADMIN_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_MODELS_ADMIN_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/classify_command.h"
#include "client/commands/output/terminal.h"
#include "client/lib/admin_client.h"

namespace vitrine {

// Runs one of `vitrine admin load`, `unload`, `rollback`, `policy`, `traffic`, `label`, `reset`. Makes the change and
// writes the resulting serving state, as text or as a ServingChange message on a JSON line. In the text form, notes
// from the server go to `errors`.
absl::Status RunAdminChange(const ClientOptions& options, const AdminChange& change, Format format, std::ostream& out,
                            std::ostream& errors);

// Runs `vitrine admin serving`. Writes how `model` (empty: every model) is served and why, as text or as a
// ServingStatus message on a JSON line.
absl::Status RunServing(const ClientOptions& options, const std::string& model, Format format, std::ostream& out);

// Describes how one model is served in a few lines of text.
std::string ServingText(const v1::ModelServingStatus& serving);

// Parses "latest 2", "all" or "specific 3 4", one word per element. The error message states what is expected.
absl::StatusOr<v1::VersionPolicy> ParseVersionPolicy(const std::vector<std::string>& words);
// Parses "4=5" or "4=2.5%": version 4 gets 5 or 2.5 percent of the traffic.
absl::StatusOr<v1::TrafficShare> ParseTrafficShare(const std::string& text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_MODELS_ADMIN_H_
