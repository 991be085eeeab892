// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine token`.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/token_command.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

constexpr char kTokenExamples[] = R"(Prints the token once; the file gets only its SHA-256. Example:
  umask 077; vitrine token new ci --out tokens > ci.token
  vitrine-server --tokens tokens ...
  vitrine models --server gpu-box:8500 --tls-ca ca.pem --token-file ci.token)";

}  // namespace

ClientCommand AddToken(CLI::App& app) {
  struct Command {
    std::string name;
    std::string out;
  };
  auto command = std::make_shared<Command>();
  CLI::App* token = app.add_subcommand("token", "Create bearer tokens for vitrine-server --tokens.");
  token->require_subcommand(1);
  token->footer(kTokenExamples);
  CLI::App* make = token->add_subcommand("new", "Create a token, append its hash to a file, print it.");
  make->add_option("NAME", command->name, "name of the token's owner in the policy")
      ->required()
      ->check(Checked(CheckTokenName))
      ->type_name("");
  make->add_option("--out", command->out, "file of vitrine-server --tokens; a line is appended")
      ->required()
      ->type_name("FILE");
  make->footer(kTokenExamples);
  return {token, [command] {
            const absl::Status status = MakeToken(command->name, command->out, std::cout);
            if (!status.ok()) return Fail("vitrine", status);
            if (isatty(STDOUT_FILENO) != 0) std::cerr << "The token is not shown again.\n";
            return kExitSuccess;
          }};
}

}  // namespace vitrine
