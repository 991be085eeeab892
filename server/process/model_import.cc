// SPDX-License-Identifier: Apache-2.0
#include "server/process/model_import.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file/cache_folder.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr char kTool[] = "vitrine-repo";
// Interval at which signals and the child are looked at, and the service manager is told to wait.
constexpr absl::Duration kTick = absl::Milliseconds(200);
constexpr absl::Duration kExtension = absl::Seconds(30);

// Returns the path of vitrine-repo beside this program, or its bare name for a search in $PATH.
std::string Tool() {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / kTool;
  return !error && access(beside.c_str(), X_OK) == 0 ? beside.string() : kTool;
}

// Starts the program with `out` as stdout and with the signal mask of a fresh process.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command, int out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  return absl::NotFoundError(
      absl::StrCat("--model needs the program ", kTool, " beside vitrine-server or in $PATH: ", std::strerror(error)));
}

// Reads what the child wrote; it writes one short line.
std::string ReadAll(int file) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t size = read(file, part, sizeof(part));
    if (size > 0) text.append(part, static_cast<size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
  }
}

// Waits for the child. Returns its wait status, or CANCELLED after a signal that ends the server.
absl::StatusOr<int> Await(pid_t child, const sigset_t& signals, const ServiceManager& manager) {
  bool is_ended = false;
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      return is_ended ? absl::CancelledError("the server was ended while it imported models")
                      : absl::StatusOr<int>(status);
    }
    manager.Notify(
        absl::StrCat("STATUS=importing models\nEXTEND_TIMEOUT_USEC=", absl::ToInt64Microseconds(kExtension)));
    const timespec tick = absl::ToTimespec(kTick);
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal != SIGTERM && signal != SIGINT) continue;
    kill(child, is_ended ? SIGKILL : SIGTERM);
    is_ended = true;
  }
}

}  // namespace

std::string DefaultModelCache() {
  return CacheFolder() / "models";
}

absl::StatusOr<std::string> ImportModels(const std::vector<std::string>& models, const std::string& cache,
                                         const sigset_t& signals, const ServiceManager& manager) {
  std::vector<std::string> command = {Tool(), "cache", cache, "--"};
  command.insert(command.end(), models.begin(), models.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ResourceExhaustedError(absl::StrCat("pipe: ", std::strerror(errno)));
  const absl::StatusOr<pid_t> child = Spawn(command, ends[1]);
  close(ends[1]);
  absl::StatusOr<int> ended = child.ok() ? Await(*child, signals, manager) : child.status();
  const std::string printed = ended.ok() ? ReadAll(ends[0]) : "";
  close(ends[0]);
  RETURN_IF_ERROR(ended.status());
  if (*ended == 0 && !printed.empty()) return std::string(absl::StripTrailingAsciiWhitespace(printed));
  if (WIFSIGNALED(*ended)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the import of --model was ended by ", strsignal(WTERMSIG(*ended)), "; perhaps there is too little memory"));
  }
  constexpr char kFailed[] = "the models of --model could not be imported; the line above says why";
  // 2: the command line is wrong, so that another start does not help.
  return WEXITSTATUS(*ended) == 2 ? absl::InvalidArgumentError(kFailed) : absl::FailedPreconditionError(kFailed);
}

}  // namespace vitrine
