// SPDX-License-Identifier: Apache-2.0
// `vitrine token`: its flags.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "client/cli/command.h"
#include "client/commands/token_command.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

constexpr char kTokenExamples[] = R"(Prints the token once; the file keeps only its SHA-256. Example:
  umask 077; vitrine token new ci --file tokens > ci.token
  vitrine-server --tokens tokens ...
  vitrine models --server gpu-box:8500 --tls-ca ca.pem --token-file ci.token)";

}  // namespace

ClientCommand AddToken(CLI::App& app) {
  struct Command {
    std::string name;
    std::string file;
  };
  auto command = std::make_shared<Command>();
  CLI::App* token = app.add_subcommand("token", "Make bearer tokens for a server's --tokens file.");
  token->require_subcommand(1);
  token->footer(kTokenExamples);
  CLI::App* make = token->add_subcommand("new", "Make a token, append its line to the file, print it.");
  make->add_option("NAME", command->name, "whose it is, as the policy calls it")->required()->type_name("");
  make->add_option("--file", command->file, "the file that vitrine-server reads")->required()->type_name("FILE");
  make->footer(kTokenExamples);
  return {token, [command] {
            const absl::Status status = MakeToken(command->name, command->file, std::cout);
            if (!status.ok()) return Fail("vitrine", status);
            if (isatty(STDOUT_FILENO) != 0) std::cerr << "This is the only time that the token is shown.\n";
            return kExitSuccess;
          }};
}

}  // namespace vitrine
