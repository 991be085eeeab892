// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_CLIENT_MODELS_ADMIN_H_
#define VITRINE_PROGRAMS_CLIENT_MODELS_ADMIN_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "client/classify_command.h"
#include "client/client.h"

namespace vitrine {

// Adds the words of `vitrine models` that change what a server serves: load, unload, rollback, policy, traffic, label,
// reset, serving. `client` and `format` hold the parsed flags of `models` and outlive the parsing. What is returned
// runs the word that was given and says how that ended; it is OK to call where `given` says that one was.
struct AdminWords {
  std::function<bool()> given;
  std::function<int()> run;  // the exit code; what went wrong is said on stderr
};
AdminWords AddAdminWords(CLI::App& models, const ClientOptions& client, const Format& format);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_MODELS_ADMIN_H_
