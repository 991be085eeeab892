// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {
namespace {

void AddShared(CLI::App& command, RemoveOptions& options) {
  command
      .add_option("--serving-config", options.serving_config,
                  "serving config of the servers of DIR; versions that it\nnames are kept")
      ->type_name("FILE");
  command
      .add_option("--admin-state", options.admin_state,
                  "admin state of the servers of DIR; versions that it names are kept")
      ->type_name("FILE");
  command.add_flag("--dry-run", options.dry_run, "print what would be removed, but remove nothing");
  command.add_flag("--yes", options.yes, "remove without confirmation; required if stdin is no terminal");
}

}  // namespace

CLI::App* AddRemoveCommand(CLI::App& app, RemoveOptions& options) {
  CLI::App* remove = app.add_subcommand("remove", "permanently removes a version or a whole model");
  remove->add_option("DIR", options.repository, "repository")->required();
  remove->add_option("MODEL[@VERSION]", options.which, "model; without a version: all its versions")->required();
  AddShared(*remove, options);
  remove->footer(
      "A version is removed atomically. A server that has loaded the version continues to serve it until it is\n"
      "retired or the server ends. Version numbers are not reused.\n"
      "  vitrine-repo remove models digits@3 --serving-config serving.textproto");
  return remove;
}

CLI::App* AddPruneCommand(CLI::App& app, RemoveOptions& options) {
  CLI::App* prune = app.add_subcommand("prune", "removes old versions");
  prune->add_option("DIR", options.repository, "repository")->required();
  prune->add_option("MODEL", options.which, "default: every model");
  prune->add_option("--keep", options.keep, "number of newest good versions to keep per model")
      ->required()
      ->check(CLI::Range(1, 1000000));
  AddShared(*prune, options);
  prune->footer(
      "A version is good if every file has the digest in the manifest. Newer versions that are not good are also "
      "kept,\n"
      "because they may be incomplete copies.\n"
      "  vitrine-repo prune models --keep 3 --serving-config serving.textproto --dry-run");
  return prune;
}

}  // namespace vitrine
