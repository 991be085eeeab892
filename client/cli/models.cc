// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine models`.
#include <unistd.h>

#include <iostream>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/models/models_command.h"
#include "client/commands/models/models_watch.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

constexpr char kModelsExamples[] = R"(Examples:
  A row per version:
    vitrine models
    vitrine models list --format json | jq 'select(.state == "ready") | .model'
  Labels, attention, metrics, provenance and configuration of one version:
    vitrine models show eit-mini-cifar10
    vitrine models show eit-mini-cifar10@2 --server gpu-box:8500 --format json | jq .provenance
  Changes as they happen, until Ctrl-C:
    vitrine models watch
vitrine admin changes which versions are served.)";

struct ModelsCommand {
  ClientOptions client;
  ModelChoice choice;   // argument of `show`
  ModelChoice watched;  // argument of `watch`
  Format format = Format::kTable;
};

absl::Status Run(const ModelsCommand& command, const CLI::App& show, const CLI::App& watch) {
  const Page page = PageBehind(STDOUT_FILENO);
  if (show.parsed()) return RunModelShow(command.client, command.choice, command.format, page, std::cout);
  if (watch.parsed()) {
    return WatchModels({.client = command.client, .model = command.watched, .format = command.format}, std::cout,
                       std::cerr);
  }
  return RunModels(command.client, command.format, page, std::cout);
}

}  // namespace

ClientCommand AddModels(CLI::App& app) {
  auto command = std::make_shared<ModelsCommand>();
  CLI::App* models = app.add_subcommand("models", "List the server's models and versions, show one, or watch them.");
  AddServerOptions(*models, command->client);
  AddFormatOption(*models, command->format);
  models->require_subcommand(0, 1);
  models->footer(kModelsExamples);
  // Flags that follow a subcommand are parsed as flags of `vitrine models`.
  const auto add = [&](const std::string& name, const std::string& does, const std::string& example) {
    CLI::App* word = models->add_subcommand(name, does);
    word->fallthrough();
    word->footer("The flags of `vitrine models --help` apply.\nExample:\n  vitrine models " + example);
    return word;
  };
  add("list", "Print a row per version; the default subcommand.", "list --server gpu-box:8500 --format json");
  CLI::App* show = add("show", "Print all information about one version.", "show eit-mini-cifar10@2");
  AddParsed(*show, "NAME[@VERSION]", ParseModelChoice, command->choice, "model; default: the only ready model", "");
  CLI::App* watch =
      add("watch", "Print a line per version, then one per change, until Ctrl-C.", "watch eit-mini-cifar10");
  const auto without_label = [](const std::string& text) -> absl::StatusOr<ModelChoice> {
    const absl::StatusOr<ModelChoice> choice = ParseModelChoice(text);
    if (!choice.ok() || choice->label.empty()) return choice;
    return absl::InvalidArgumentError(
        "watch takes NAME or NAME@VERSION; a label moves from version to version, see vitrine models");
  };
  AddParsed(*watch, "NAME[@VERSION]", without_label, command->watched,
            "watch only this model or version; it may be published later", "");
  return {models, [command, show, watch] {
            const absl::Status status = Run(*command, *show, *watch);
            return status.ok() ? kExitSuccess : FailWithHint(status, command->client);
          }};
}

}  // namespace vitrine
