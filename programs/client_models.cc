// `vitrine models`: its flags.
#include <unistd.h>

#include <iostream>

#include "client/models_command.h"
#include "programs/client_command.h"
#include "programs/client_options.h"
#include "programs/command_line.h"

namespace vitrine {
namespace {

constexpr char kExamples[] = R"(Examples:
  vitrine models
  vitrine models --server gpu-box:8500 --format json | jq 'select(.state == "ready") | .model')";

struct ModelsCommand {
  ClientOptions client;
  Format format = Format::kTable;
};

}  // namespace

ClientCommand AddModels(CLI::App& app) {
  auto command = std::make_shared<ModelsCommand>();
  CLI::App* models = app.add_subcommand("models", "List the server's models and versions.");
  AddServerOptions(*models, command->client);
  AddFormatOption(*models, command->format);
  models->footer(kExamples);
  return {models, [command] {
            const absl::Status status =
                RunModels(command->client, command->format, PageBehind(STDOUT_FILENO), std::cout);
            return status.ok() ? kExitSuccess : FailWithHint(status, command->client);
          }};
}

}  // namespace vitrine
