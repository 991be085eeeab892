// SPDX-License-Identifier: Apache-2.0
// vitrine: the client of a vitrine-server. This file lists the commands. The file NAME.cc of this folder has the flags
// of the command NAME. The other folders of client/ implement the commands.
#include <cstdlib>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

const std::vector<RenamedWord>& RenamedWords() {
  static const std::vector<RenamedWord> words = {
      {"classify", "--attention-kind", "--attention"},
      {"classify", "--attention-query", "--query"},
      {"classify", "--layer", "--layers"},
      {"classify", "--head", "--heads"},
      {"embed", "--output", "--out"},
      {"embed", "--kind", "--feature"},
      {"classify", "--in-flight", "--max-in-flight"},
      {"embed", "--in-flight", "--max-in-flight"},
      {"eval", "--in-flight", "--max-in-flight"},
      {"bench", "--attention-kind", "--attention"},
      {"bench", "--precision", "--tolerance"},
      {"token new", "--file", "--out"},
      {"models", "load", "vitrine admin load"},
      {"models", "unload", "vitrine admin unload"},
      {"models", "rollback", "vitrine admin rollback"},
      {"models", "policy", "vitrine admin policy"},
      {"models", "traffic", "vitrine admin traffic"},
      {"models", "label", "vitrine admin label"},
      {"models", "reset", "vitrine admin reset"},
      {"models", "serving", "vitrine admin serving"},
  };
  return words;
}

constexpr char kExamples[] = R"(Examples:
  vitrine models
  vitrine models show eit-mini-cifar10
  vitrine classify cat.jpg truck.jpg --model eit-mini-cifar10
  vitrine classify samples/cifar --model eit-mini-cifar10 --out out/
  vitrine classify digit.png --model kv-pos-mnist@1 --top-k 3 --format json
  vitrine embed samples/cifar --model eit-mini-cifar10 --out features.npy
  vitrine eval --model eit-mini-cifar10 --data cifar10:/data/cifar-10 --out results/
  vitrine score photos/ --model eit-mini-cifar10 --out scores/

The server's address is --server, else $VITRINE_SERVER, else 127.0.0.1:8500.)";

int Main(int argc, char** argv) {
  // Silences gRPC's own lines on stderr, which are for developers. Users get this program's error messages.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  CLI::App app("Client of vitrine-server: classifies images.", "vitrine");
  app.require_subcommand(1);
  app.formatter(ShortHelp());
  app.footer(kExamples);
  const std::vector<ClientCommand> commands = {
      AddClassify(app), AddEmbed(app), AddModels(app), AddAdmin(app), AddBench(app),
      AddEval(app),     AddScore(app), AddHealth(app), AddToken(app),
  };
  if (const std::optional<int> exit = ParseCommandLine(app, argc, argv, RenamedWords())) return *exit;
  for (const ClientCommand& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kExitUsage;  // unreachable: a command is required
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::EndOutput("vitrine", vitrine::Main(argc, argv));
}
