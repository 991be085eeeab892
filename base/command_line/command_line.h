// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_COMMAND_LINE_COMMAND_LINE_H_
#define VITRINE_BASE_COMMAND_LINE_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// Exit codes of every program. One that a signal ended has another: interrupt.h.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// The commit that the program was built from, with "-dirty" behind it if there were changes; empty if that is unknown.
std::string_view SourceRevision();

// Adds --version, --completion SHELL and --manual-page and parses. A value means that the program ends now with that
// code: 0 after --help, --version and the pages (printed on stdout), 2 on a usage error (a sentence and the way to
// --help, on stderr).
std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv);

// `status`, not OK, as one that the command line is to blame for: Fail then returns kExitUsage.
absl::Status WrongCommandLine(absl::Status status);

// The value, or why there is none as WrongCommandLine of that.
template <typename T>
absl::StatusOr<T> WrongCommandLine(absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return WrongCommandLine(value.status());
}

// Prints "<program>: <message>" on stderr and returns kExitFailure.
int Fail(std::string_view program, const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_BASE_COMMAND_LINE_COMMAND_LINE_H_
