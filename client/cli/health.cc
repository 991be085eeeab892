// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine health`.
#include <iostream>
#include <memory>
#include <string>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/health_command.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

constexpr char kHealthExamples[] = R"(Exit code: 0 if serving, 1 if not serving or without an answer. Examples:
  vitrine health
  vitrine health model/eit-mini-cifar10 --server gpu-box:8500
  vitrine health --server 127.0.0.1:8502 --connect-timeout 2s     port of vitrine-server --health-listen, without TLS)";

}  // namespace

ClientCommand AddHealth(CLI::App& app) {
  struct Command {
    ClientOptions client;
    std::string service;
  };
  auto command = std::make_shared<Command>();
  CLI::App* health = app.add_subcommand("health", "Check if the server or a model is serving.");
  health->add_option("SERVICE", command->service, "\"model/NAME\" for a model; default: the server")->type_name("");
  AddServerOptions(*health, command->client);
  health->footer(kHealthExamples);
  return {health, [command] {
            const absl::Status status = RunHealth(command->client, command->service, std::cout);
            return status.ok() ? kExitSuccess : FailWithHint(status, command->client);
          }};
}

}  // namespace vitrine
