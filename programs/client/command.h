// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_CLIENT_COMMAND_H_
#define VITRINE_PROGRAMS_CLIENT_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace vitrine {

// A command of `vitrine`: its flags, already added to the program's, and what it does once they are parsed. `run`
// returns an exit code of base/command_line/command_line.h.
struct ClientCommand {
  const CLI::App* app = nullptr;
  std::function<int()> run = {};
};

ClientCommand AddClassify(CLI::App& app);  // client_classify.cc
ClientCommand AddEmbed(CLI::App& app);     // client_embed.cc
ClientCommand AddModels(CLI::App& app);    // client_models.cc
ClientCommand AddEval(CLI::App& app);      // client_eval.cc
ClientCommand AddBench(CLI::App& app);     // client_bench.cc
ClientCommand AddHealth(CLI::App& app);    // client_health.cc
ClientCommand AddToken(CLI::App& app);     // client_token.cc

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_COMMAND_H_
