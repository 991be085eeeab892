// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_MODELS_ADMIN_H_
#define VITRINE_CLIENT_MODELS_ADMIN_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/admin_client.h"
#include "client/classify_command.h"
#include "client/terminal.h"

namespace vitrine {

// `vitrine models load`, `unload`, `rollback`, `policy`, `traffic`, `label`, `reset`: makes the change and writes how
// the model is served then, as text or as the message ServingChange on a JSON line. Notes of the server go to `errors`
// where the format is text.
absl::Status RunAdminChange(const ClientOptions& options, const AdminChange& change, Format format, std::ostream& out,
                            std::ostream& errors);

// `vitrine models serving`: how every model, or this one, is served and why; as text or as the message ServingStatus on
// a JSON line.
absl::Status RunServing(const ClientOptions& options, const std::string& model, Format format, std::ostream& out);

// How one model is served, some lines of text.
std::string ServingText(const v1::ModelServingStatus& serving);

// "latest 2", "all", "specific 3 4", a word each. INVALID_ARGUMENT says what is expected.
absl::StatusOr<v1::VersionPolicy> ParseVersionPolicy(const std::vector<std::string>& words);
// "4=5" or "4=2.5%": version 4, that many percent.
absl::StatusOr<v1::TrafficShare> ParseTrafficShare(const std::string& text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_MODELS_ADMIN_H_
