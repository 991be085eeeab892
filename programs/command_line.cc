#include "programs/command_line.h"

#include <iostream>
#include <string>

namespace vitrine {

std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("--version", app.get_name() + " " VITRINE_VERSION);
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
