// SPDX-License-Identifier: Apache-2.0
#include "server/registry/remote_repository.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "models/repository/names.h"
#include "server/observe/log.h"
#include "server/process/clock.h"

namespace vitrine {
namespace {

constexpr absl::Duration kFirstRestart = absl::Seconds(1);
constexpr absl::Duration kLastRestart = absl::Minutes(1);
// Time between the child's end and the log line about it. A signal to the whole process group or control group may end
// the child shortly before this process calls Stop. If Stop is called in this time, nothing is logged.
constexpr absl::Duration kStopNotice = absl::Seconds(1);

std::vector<std::string> CommandOf(const std::string& program, const std::string& source,
                                   const RemoteRepositoryOptions& options) {
  std::vector<std::string> command = {program,
                                      "pull",
                                      source,
                                      options.cache,
                                      "--delete",
                                      "--watch",
                                      absl::StrCat(absl::ToDoubleSeconds(options.refresh))};
  if (options.cache_bytes > 0) {
    command.insert(command.end(), {"--max-bytes", absl::StrCat(options.cache_bytes)});
  }
  return command;
}

std::filesystem::path RefreshedPath(const std::string& cache) {
  return std::filesystem::path(cache) / kPullFolder / kRefreshedFile;
}

// Returns true if kRefreshedFile ends with `end`. `end` contains the source, so that a copy of another source does not
// count.
bool RefreshedEndsWith(const std::string& cache, const std::string& end) {
  std::ifstream file(RefreshedPath(cache));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return absl::EndsWith(text, end);
}

}  // namespace

bool IsRemoteRepository(std::string_view repository) {
  return repository.find("://") != std::string_view::npos;
}

absl::Status RemoteRepositoryOptions::Validate(const std::string& source) const {
  std::error_code ignored;
  if (source.empty()) {
    return absl::InvalidArgumentError(
        "--repository is missing; name the folder with <model>/<version>/, or a model to import with --model");
  }
  if (!IsRemoteRepository(source)) {
    if (!std::filesystem::is_directory(source, ignored)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--repository is \"", source, "\", which is not a readable folder"));
    }
    const RemoteRepositoryOptions defaults;
    const char* const flag = !cache.empty()                        ? "--repository-cache"
                             : cache_bytes != defaults.cache_bytes ? "--repository-cache-bytes"
                             : refresh != defaults.refresh         ? "--repository-refresh"
                                                                   : nullptr;
    if (flag == nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(flag, " needs a remote --repository, such as s3://BUCKET/PREFIX"));
  }
  const std::string_view scheme = std::string_view(source).substr(0, source.find("://"));
  const auto schemes = {"s3", "gs", "az", "https", "http", "oci"};
  if (std::find(schemes.begin(), schemes.end(), scheme) == schemes.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--repository is \"", source, "\"; an address begins with s3://, gs://, az://, https:// or oci://"));
  }
  const std::string_view rest = std::string_view(source).substr(scheme.size() + 3);
  if (scheme == "http" && !IsThisMachine(rest.substr(0, rest.find('/')))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--repository is \"", source, "\", which is not encrypted; use https://"));
  }
  if (cache.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--repository is \"", source, "\"; name a folder for its copy with --repository-cache"));
  }
  if (refresh < absl::Milliseconds(100) || refresh > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--repository-refresh is ", absl::FormatDuration(refresh), "; it must be 100ms to 24h"));
  }
  if (cache_bytes < 0) return absl::InvalidArgumentError("--repository-cache-bytes is negative");
  return absl::OkStatus();
}

absl::Time TimeOfRefresh(const std::string& cache, const std::string& source) {
  struct stat status;
  if (!RefreshedEndsWith(cache, absl::StrCat(" versions of ", source, "\n")) ||
      stat(RefreshedPath(cache).c_str(), &status) != 0) {
    return absl::InfinitePast();
  }
  return absl::TimeFromTimespec(status.st_mtim);
}

std::function<absl::Time()> RefreshSource(const std::string& cache, const std::string& source) {
  if (!IsRemoteRepository(source)) return nullptr;
  return [cache, source] { return TimeOfRefresh(cache, source); };
}

RemoteRepository::RemoteRepository(std::string source, RemoteRepositoryOptions options, const std::string& program)
    : source_(std::move(source)),
      options_(std::move(options)),
      command_(CommandOf(program, source_, options_)),
      thread_([this] { Loop(); }) {}

RemoteRepository::~RemoteRepository() {
  Stop();
  thread_.join();
}

void RemoteRepository::Stop() {
  std::shared_ptr<ChildProcess> child;
  {
    MutexLock lock(mutex_);
    stop_ = true;
    child = child_;
  }
  if (child != nullptr) child->Terminate();
  stopping_.NotifyAll();
}

bool RemoteRepository::HasCopy() const {
  return RefreshedEndsWith(options_.cache, absl::StrCat(" of ", source_, "\n"));
}

bool RemoteRepository::IsComplete() const {
  return TimeOfRefresh(options_.cache, source_) > absl::InfinitePast();
}

void RemoteRepository::Loop() {
  for (absl::Duration wait = kFirstRestart;; wait = std::min(wait * 2, kLastRestart)) {
    const absl::Time began = SteadyClock().Now();
    const std::string ended = RunOnce();
    if (SteadyClock().Now() - began > kLastRestart) wait = kFirstRestart;
    if (!Sleep(kStopNotice)) return;
    Log(LogLevel::kError, "the refresh of the repository ended",
        {{"repository", source_}, {"why", ended}, {"restart_seconds", absl::ToInt64Seconds(wait)}});
    if (!Sleep(wait)) return;
  }
}

std::string RemoteRepository::RunOnce() {
  absl::StatusOr<std::unique_ptr<ChildProcess>> started = ChildProcess::Start(command_);
  if (!started.ok()) return std::string(started.status().message());
  const std::shared_ptr<ChildProcess> child = *std::move(started);
  {
    MutexLock lock(mutex_);
    if (stop_) return "";
    child_ = child;
  }
  for (std::string line; child->ReadLine(line);) {
    if (absl::StartsWith(line, "pulled ") || absl::StartsWith(line, "removed ")) {
      Log(LogLevel::kInfo, "repository refreshed", {{"change", line}});
    } else {
      const absl::string_view fault = absl::StripPrefix(line, "vitrine-repo: ");
      Log(LogLevel::kWarning, "repository not refreshed",
          {{"fault", absl::StrReplaceAll(fault, {{"--max-bytes", "--repository-cache-bytes"}})}});
    }
  }
  const int code = child->Wait();
  MutexLock lock(mutex_);
  child_ = nullptr;
  return absl::StrCat(command_[0], " exited with code ", code);
}

bool RemoteRepository::Sleep(absl::Duration duration) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
  MutexLock lock(mutex_);
  while (!stop_ && std::chrono::steady_clock::now() < end) {
    stopping_.WaitFor(mutex_, absl::FromChrono(end - std::chrono::steady_clock::now()));
  }
  return !stop_;
}

}  // namespace vitrine
