// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_CLIENT_COMMAND_H_
#define VITRINE_PROGRAMS_CLIENT_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "client/classify_command.h"
#include "client/client.h"

namespace vitrine {

// A command of `vitrine`: its flags, already added to the program's, and what it does once they are parsed. `run`
// returns an exit code of base/command_line/command_line.h.
struct ClientCommand {
  const CLI::App* app = nullptr;
  std::function<int()> run = {};
};

ClientCommand AddClassify(CLI::App& app);  // classify.cc
ClientCommand AddEmbed(CLI::App& app);     // embed.cc
ClientCommand AddModels(CLI::App& app);    // models.cc
ClientCommand AddEval(CLI::App& app);      // eval.cc
ClientCommand AddBench(CLI::App& app);     // bench.cc
ClientCommand AddHealth(CLI::App& app);    // health.cc
ClientCommand AddToken(CLI::App& app);     // token.cc

// Adds the words of `vitrine models` that change what a server serves: load, unload, rollback, policy, traffic, label,
// reset, serving (models_admin.cc). `client` and `format` hold the parsed flags of `models` and outlive the parsing.
// What is returned runs the word that was given and says how that ended; it is OK to call where `given` says that one
// was.
struct AdminWords {
  std::function<bool()> given;
  std::function<int()> run;  // the exit code; what went wrong is said on stderr
};
AdminWords AddAdminWords(CLI::App& models, const ClientOptions& client, const Format& format);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_COMMAND_H_
