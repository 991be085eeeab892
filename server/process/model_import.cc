// SPDX-License-Identifier: Apache-2.0
#include "server/process/model_import.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file/cache_folder.h"
#include "server/process/child_process.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Interval of checks for signals and the child's end, and of notifications to the service manager.
constexpr absl::Duration kTick = absl::Milliseconds(200);
constexpr absl::Duration kExtension = absl::Seconds(30);
constexpr int kWrongUsage = 2, kFirstSignal = 128;  // exit codes of ChildProcess::Wait

// Waits for the end of the child's output. If SIGTERM or SIGINT arrives, terminates the child and returns false.
bool Await(const std::atomic<bool>& ended, ChildProcess& child, const sigset_t& signals,
           const ServiceManager& manager) {
  bool is_wanted = true;
  while (!ended) {
    manager.Notify(
        absl::StrCat("STATUS=importing models\nEXTEND_TIMEOUT_USEC=", absl::ToInt64Microseconds(kExtension)));
    const timespec tick = absl::ToTimespec(kTick);
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal != SIGTERM && signal != SIGINT) continue;
    is_wanted = false;
    child.Terminate();
  }
  return is_wanted;
}

absl::Status Failed(int code) {
  if (code >= kFirstSignal) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the import of --model was ended by ", strsignal(code - kFirstSignal), "; perhaps there is too little memory"));
  }
  constexpr char kWhy[] = "the models of --model could not be imported; the line above says why";
  if (code != kWrongUsage) return absl::FailedPreconditionError(kWhy);
  return absl::InvalidArgumentError(
      absl::StrCat(kWhy, ". If it rejects \"cache\", vitrine-repo is of another version than vitrine-server"));
}

}  // namespace

absl::StatusOr<std::string> ImportModels(const std::vector<std::string>& models, const std::string& cache,
                                         const sigset_t& signals, const ServiceManager& manager) {
  if (cache.empty() && CacheFolder().empty()) {
    return absl::InvalidArgumentError(
        "--model needs --model-cache, a folder for imported models, because $HOME is not set");
  }
  const fs::path folder = cache.empty() ? CacheFolder() / "models" : fs::path(cache);
  std::vector<std::string> command = {ProgramBeside("vitrine-repo"), "cache", folder.string(), "--"};
  command.insert(command.end(), models.begin(), models.end());
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(command);
  if (!child.ok()) {
    return absl::NotFoundError(
        absl::StrCat("--model needs the program vitrine-repo beside vitrine-server: ", child.status().message()));
  }
  std::string repository;
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    for (std::string line; (*child)->ReadLine(line);) {
      if (fs::path(line).parent_path() == (folder / "set").parent_path()) {
        repository = line;
      } else {
        std::cerr << line << std::endl;
      }
    }
    ended = true;
  });
  const bool is_wanted = Await(ended, **child, signals, manager);
  reader.join();
  const int code = (*child)->Wait();
  if (!is_wanted) return absl::CancelledError("the server was ended while it imported models");
  if (code == 0 && !repository.empty()) return repository;
  return Failed(code);
}

}  // namespace vitrine
