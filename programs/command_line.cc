// SPDX-License-Identifier: Apache-2.0
#include "programs/command_line.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "vitrine_revision.h"

namespace vitrine {

std::string_view SourceRevision() {
  return VITRINE_REVISION;
}

std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  std::string version = app.get_name() + " " VITRINE_VERSION;
  if (!SourceRevision().empty()) absl::StrAppend(&version, " (", std::string(SourceRevision()), ")");
  app.set_version_flag("--version", version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help and version on stdout, errors with a pointer to --help on stderr.
    return app.exit(error) == 0 ? kExitSuccess : kExitUsage;
  }
  return std::nullopt;
}

int Fail(std::string_view program, const absl::Status& status) {
  std::cerr << program << ": " << status.message() << "\n";
  return kExitFailure;
}

}  // namespace vitrine
