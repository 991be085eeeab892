// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {
namespace {

void AddShared(CLI::App& command, RemoveOptions& options) {
  command
      .add_option("--serving-config", options.serving_config,
                  "the file of the servers of DIR: what it labels, shares or\nlists stays")
      ->type_name("FILE");
  command.add_option("--admin-state", options.admin_state, "the file of the servers of DIR: what it names stays")
      ->type_name("FILE");
  command.add_flag("--dry-run", options.dry_run, "say what would be removed, and remove nothing");
  command.add_flag("--yes", options.yes, "remove without a question; needed where there is no terminal");
}

}  // namespace

CLI::App* AddRemoveCommand(CLI::App& app, RemoveOptions& options) {
  CLI::App* remove = app.add_subcommand("remove", "removes a version, or a model with all its versions, for good");
  remove->add_option("DIR", options.repository, "the repository")->required();
  remove->add_option("MODEL[@VERSION]", options.which, "without a version: every version of the model")->required();
  AddShared(*remove, options);
  remove->footer(
      "A version goes as a whole, in an instant; a server that has it in memory serves it on until it retires or the\n"
      "server ends. Its number is not given again.\n"
      "  vitrine-repo remove models digits@3 --serving-config serving.textproto");
  return remove;
}

CLI::App* AddPruneCommand(CLI::App& app, RemoveOptions& options) {
  CLI::App* prune = app.add_subcommand("prune", "removes old versions");
  prune->add_option("DIR", options.repository, "the repository")->required();
  prune->add_option("MODEL", options.which, "without it: every model");
  prune->add_option("--keep", options.keep, "good versions of each model that stay, the newest")
      ->required()
      ->check(CLI::Range(1, 1000000));
  AddShared(*prune, options);
  prune->footer(
      "A version is good if every file has the digest of its manifest. What is not good and newer stays too: it may be "
      "a\n"
      "copy that has not ended.\n"
      "  vitrine-repo prune models --keep 3 --serving-config serving.textproto --dry-run");
  return prune;
}

}  // namespace vitrine
