// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLI_COMMAND_H_
#define VITRINE_CLIENT_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "client/commands/classify_command.h"
#include "client/lib/client.h"

namespace vitrine {

// A command of `vitrine`: its subcommand, whose flags are added already, and its action after parsing. `run` returns an
// exit code of common/command_line/command_line.h.
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

// Adds the subcommands of `vitrine models` that use the Admin service: load, unload, rollback, policy, traffic, label,
// reset, serving (models_admin.cc). `client` and `format` hold the parsed flags of `models` and must outlive the
// parsing. `given` returns true if one of them was given; only then may `run` be called.
struct AdminWords {
  std::function<bool()> given;
  std::function<int()> run;  // runs it and returns the exit code; errors go to stderr
};
AdminWords AddAdminWords(CLI::App& models, const ClientOptions& client, const Format& format);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLI_COMMAND_H_
