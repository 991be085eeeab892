// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/command_line.h"

#include <iostream>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/command_line/command_tree.h"
#include "vitrine_revision.h"

namespace vitrine {

std::string_view SourceRevision() {
  return VITRINE_REVISION;
}

namespace {

// --completion and --manual-page, of which no help speaks: an installation has what they print. Thrown as the version
// is, so that nothing else of the command line is asked for.
void AddPages(CLI::App& app, const std::string& version) {
  const auto say = [](const std::string& text) { throw CLI::CallForVersion(text, kExitSuccess); };
  app.add_option_function<std::string>(
         "--completion",
         [&app, say](const std::string& shell) { say(CompletionScript(app.get_name(), ReadCommandTree(app), shell)); },
         "a completion script")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->group("");
  app.add_flag_callback(
         "--manual-page", [&app, say, version] { say(ManualPage(app.get_name(), version, ReadCommandTree(app))); },
         "the manual page")
      ->group("");
}

constexpr absl::string_view kWrongCommandLine = "vitrine/wrong-command-line";

}  // namespace

std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  std::string version = app.get_name() + " " VITRINE_VERSION;
  if (!SourceRevision().empty()) absl::StrAppend(&version, " (", std::string(SourceRevision()), ")");
  app.set_version_flag("--version", version);
  AddPages(app, version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help and version on stdout, errors with a pointer to --help on stderr.
    return app.exit(error) == 0 ? kExitSuccess : kExitUsage;
  }
  return std::nullopt;
}

absl::Status WrongCommandLine(absl::Status status) {
  status.SetPayload(kWrongCommandLine, absl::Cord());
  return status;
}

int Fail(std::string_view program, const absl::Status& status) {
  std::cerr << program << ": " << status.message() << "\n";
  return status.GetPayload(kWrongCommandLine) ? kExitUsage : kExitFailure;
}

}  // namespace vitrine
