// vitrine-repo: looks at a repository of checkpoints, verifies it, and promotes versions between repositories.
#include <CLI/CLI.hpp>
#include <string>

#include "programs/command_line.h"
#include "programs/repo_commands.h"

namespace vitrine {
namespace {

constexpr char kProgram[] = "vitrine-repo";

constexpr char kDescription[] =
    "Looks at a repository of checkpoints, verifies it, and promotes versions from one repository to another.\n"
    "A repository is a folder that holds <model>/<version>/ with manifest, weights, goldens and labels.";

constexpr char kExamples[] =
    "Examples:\n"
    "  vitrine-repo list bundled                         what is there\n"
    "  vitrine-repo show bundled kv-pos-mnist            the newest version in full\n"
    "  vitrine-repo verify bundled                       digests, weights and goldens of every version\n"
    "  vitrine-repo publish production kv-pos-mnist@3 --from staging\n"
    "                                                    verifies version 3 and publishes it in production\n"
    "Exit codes: 0 success, 1 a version fails or cannot be read, 2 usage.";

struct Flags {
  std::string repository;
  std::string which;
  std::string source;
  std::string format = "table";
};

void AddRepository(CLI::App& command, Flags& flags) {
  command.add_option("DIR", flags.repository, "the repository")->required();
}

void AddFormat(CLI::App& command, Flags& flags) {
  command.add_option("--format", flags.format, "table (default) or json")->check(CLI::IsMember({"table", "json"}));
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kDescription, kProgram);
  app.footer(kExamples);
  app.require_subcommand(1);

  CLI::App* list = app.add_subcommand("list", "a table of the versions: parameters, size, accuracy");
  AddRepository(*list, flags);
  AddFormat(*list, flags);

  CLI::App* show = app.add_subcommand("show", "one version in full: provenance, measurements, files, configuration");
  AddRepository(*show, flags);
  show->add_option("MODEL[@VERSION]", flags.which, "without a version: the newest")->required();
  AddFormat(*show, flags);

  CLI::App* verify = app.add_subcommand(
      "verify", "every digest, the weights against the model, the goldens on this CPU; a line per version");
  AddRepository(*verify, flags);
  verify->add_option("MODEL[@VERSION]", flags.which, "without it: everything; without a version: all of the model's");
  AddFormat(*verify, flags);

  CLI::App* publish = app.add_subcommand("publish", "verifies a version of another repository and publishes it here");
  publish->add_option("DIR", flags.repository, "the repository to publish in; created if it is not there")->required();
  publish->add_option("MODEL[@VERSION]", flags.which, "without a version: the newest")->required();
  publish->add_option("--from", flags.source, "the repository that holds the version")->required()->type_name("DIR");

  if (const auto exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  const OutputFormat format = flags.format == "json" ? OutputFormat::kJson : OutputFormat::kTable;
  absl::Status status;
  if (list->parsed()) status = ListCommand(flags.repository, format);
  if (show->parsed()) status = ShowCommand(flags.repository, flags.which, format);
  if (verify->parsed()) status = VerifyCommand(flags.repository, flags.which, format);
  if (publish->parsed()) status = PublishCommand(flags.repository, flags.source, flags.which);
  return status.ok() ? kExitSuccess : Fail(kProgram, status);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
