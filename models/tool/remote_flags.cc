// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "common/command_line/number_check.h"
#include "models/tool/flags.h"

namespace vitrine {
namespace {

constexpr char kAddresses[] =
    "Addresses, and where credentials come from. Credentials are renewed before they expire.\n"
    "  s3://BUCKET[/PREFIX]               as for the aws command: environment, web identity (IRSA), profile, assumed "
    "role,\n"
    "                                     container, instance (IMDSv2)\n"
    "  gs://BUCKET[/PREFIX]               $GOOGLE_APPLICATION_CREDENTIALS, gcloud's default, metadata server\n"
    "  az://ACCOUNT/CONTAINER[/PREFIX]    $AZURE_STORAGE_SAS_TOKEN, workload identity, managed identity\n"
    "  oci://HOST/NAME                    a container registry; login from ~/.docker/config.json\n"
    "  https://HOST/FOLDER                a web server; only for pull, without credentials. FOLDER/index.json comes "
    "from\n"
    "                                     vitrine-repo list DIR --format json > DIR/index.json\n"
    "Tested with stand-ins (moto for s3, a local registry for oci, replies in a test for gs and az), never with the "
    "real\n"
    "services.\n";

void AddEndpoint(CLI::App& command, std::string& endpoint) {
  command
      .add_option("--endpoint", endpoint,
                  "URL of another service with the same protocol, such as MinIO;\ndefault of s3: $AWS_ENDPOINT_URL")
      ->type_name("URL")
      ->check(FaultOfUrl);
}

}  // namespace

CLI::App* AddPullCommand(CLI::App& app, PullOptions& options) {
  CLI::App* pull = app.add_subcommand("pull", "copies a remote repository, and keeps the copy up to date");
  pull->add_option("SOURCE", options.source, "address of the remote repository")->required()->check(FaultOfRemote);
  pull->add_option("DIR", options.folder, "the copy; created if missing")->required();
  pull->add_flag("--delete", options.remove, "remove versions that the source no longer has");
  pull->add_option("--watch", options.watch_seconds,
                   "refresh the copy at this interval, forever; errors are printed and\nretried with growing intervals")
      ->type_name("SECONDS")
      ->check(NumberFrom(0.1, 86400));
  pull->add_option("--max-bytes", options.most_bytes, "limit of the copy's size; default: none")
      ->type_name("BYTES")
      ->check(PositiveNumber());
  AddEndpoint(*pull, options.endpoint);
  pull->footer(
      std::string(
          "A version appears in DIR as a whole, once every digest is right. Interrupted downloads continue.\n") +
      kAddresses +
      "  vitrine-repo pull s3://models/production /var/cache/vitrine\n"
      "  vitrine-repo pull s3://models/production cache --watch 60 --delete\n"
      "vitrine-server --repository s3://models/production --repository-cache DIR does the same, and serves DIR.");
  return pull;
}

CLI::App* AddPushCommand(CLI::App& app, PushOptions& options) {
  CLI::App* push = app.add_subcommand("push", "copies a version to a remote repository, under the same number");
  push->add_option("DIR", options.repository, "repository")->required();
  push->add_option("MODEL[@VERSION]", options.which, "model; without a version: the newest")->required();
  push->add_option("TARGET", options.target, "address of the remote repository")->required()->check(FaultOfRemote);
  AddEndpoint(*push, options.endpoint);
  push->footer(
      std::string("The manifest is stored last, so readers never see a part of a version. Nothing is replaced.\n") +
      kAddresses + "  vitrine-repo push models/bundled kv-pos-mnist@3 s3://models/production");
  return push;
}

}  // namespace vitrine
