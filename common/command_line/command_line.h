// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_COMMAND_LINE_H_
#define VITRINE_COMMON_COMMAND_LINE_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// Exit codes of every program. Two more are in interrupt.h (ended by a signal) and out_of_memory.h.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Returns the commit that the program was built from, or "" if it is unknown. "-dirty" is appended if there were local
// changes.
std::string_view SourceRevision();

// An old spelling of a flag or command. It is rejected with a message that gives the new spelling: "--output is now
// --out".
struct RenamedWord {
  std::string command;  // command that had the word, "eval compare"; empty: the program and all its commands
  std::string before;   // "--output", or the name of a subcommand of `command`
  std::string now;
};

// Calls EndWhenOutOfMemory, ignores SIGXFSZ so that a write beyond the file size limit fails with EFBIG, adds
// --version, --completion SHELL and --manual-page, and parses the flags. "--flag=" sets an empty text. Returns an exit
// code if the program must exit: 0 after the added flags and --help (which print on stdout), 2 after a usage error
// (printed on stderr with a hint at --help).
std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv, const std::vector<RenamedWord>& renamed = {});

// Marks `status`, which must not be OK, as a usage error: Fail then returns kExitUsage.
absl::Status WrongCommandLine(absl::Status status);

// Returns the value, or its error marked as a usage error.
template <typename T>
absl::StatusOr<T> WrongCommandLine(absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return WrongCommandLine(value.status());
}

// Flushes std::cout and stdout at the end of a program. If output could not be written, for example to a full disk,
// prints a message on stderr. Returns `exit_code`; if output was lost, returns kExitFailure instead of kExitSuccess.
int EndOutput(std::string_view program, int exit_code);

// Prints "<program>: <message>" on stderr. Returns kExitFailure, or kExitUsage for a usage error.
int Fail(std::string_view program, const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_COMMAND_LINE_H_
