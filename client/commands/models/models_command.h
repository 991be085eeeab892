// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_MODELS_COMMAND_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_MODELS_COMMAND_H_

#include <ostream>

#include "absl/status/status.h"
#include "client/commands/classify_command.h"
#include "client/commands/output/terminal.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Runs `vitrine models`. Writes a row or a JSON line for each version of the server.
absl::Status RunModels(const ClientOptions& options, Format format, const Page& page, std::ostream& out);

// Runs `vitrine models show`. Writes the details of one version, as a page or a JSON line.
absl::Status RunModelShow(const ClientOptions& options, const ModelChoice& choice, Format format, const Page& page,
                          std::ostream& out);

// Formats the list as a text table with a header and a row per version.
std::string ModelsTable(const v1::ListModelsResponse& list, const Page& page);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_MODELS_COMMAND_H_
