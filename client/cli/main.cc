// SPDX-License-Identifier: Apache-2.0
// vitrine: the client of a vitrine-server. Lists the commands; their flags are in files of their names in this folder,
// their implementation is in client/.
#include <cstdlib>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

constexpr char kExamples[] = R"(Examples:
  vitrine models
  vitrine models show eit-mini-cifar10
  vitrine classify cat.jpg truck.jpg --model eit-mini-cifar10
  vitrine classify samples/cifar --model eit-mini-cifar10 --attention out/
  vitrine classify digit.png --model kv-pos-mnist@1 --top-k 3 --format json
  vitrine embed samples/cifar --model eit-mini-cifar10 --output features.npy
  vitrine eval --model eit-mini-cifar10 --data cifar10:/data/cifar-10 --out results/

The server's address is --server, else $VITRINE_SERVER, else 127.0.0.1:8500.)";

int Main(int argc, char** argv) {
  // gRPC's own lines on stderr are for developers; our errors explain the same for users.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  CLI::App app("Asks a Vitrine server what is on pictures.", "vitrine");
  app.require_subcommand(1);
  app.formatter(ShortHelp());
  app.footer(kExamples);
  const std::vector<ClientCommand> commands = {
      AddClassify(app), AddEmbed(app), AddModels(app), AddBench(app), AddEval(app), AddHealth(app), AddToken(app),
  };
  if (const std::optional<int> exit = ParseCommandLine(app, argc, argv)) return *exit;
  for (const ClientCommand& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kExitUsage;  // unreachable: a command is required
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
