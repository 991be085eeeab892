// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLI_COMMAND_H_
#define VITRINE_CLIENT_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "client/commands/classify_command.h"
#include "client/lib/client.h"

namespace vitrine {

// A command of `vitrine`: the subcommand with its flags, and its action after parsing. `run` returns an exit code that
// common/command_line/command_line.h defines.
struct ClientCommand {
  const CLI::App* app = nullptr;
  std::function<int()> run = {};
};

// Each function adds a command. The comment after it names the file that defines it.
ClientCommand AddClassify(CLI::App& app);  // classify.cc
ClientCommand AddEmbed(CLI::App& app);     // embed.cc
ClientCommand AddModels(CLI::App& app);    // models.cc
ClientCommand AddAdmin(CLI::App& app);     // admin.cc
ClientCommand AddEval(CLI::App& app);      // eval.cc
ClientCommand AddScore(CLI::App& app);     // score.cc
ClientCommand AddBench(CLI::App& app);     // bench.cc
ClientCommand AddHealth(CLI::App& app);    // health.cc
ClientCommand AddToken(CLI::App& app);     // token.cc

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLI_COMMAND_H_
