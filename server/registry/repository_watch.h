// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_REPOSITORY_WATCH_H_
#define VITRINE_SERVER_REGISTRY_REPOSITORY_WATCH_H_

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "models/repository/safe_file.h"

namespace vitrine {

// Waits for changes of a repository and of settings files, by inotify. The watch only shortens the wait for the next
// poll. The caller must still poll periodically, because network file systems send no events and the system may refuse
// a watch. Thread-compatible; Wake is thread-safe.
class RepositoryWatch {
 public:
  // `files` are settings files, watched through their folders; empty paths are ignored. inotify may be unavailable,
  // because its limits are per user and other programs often exhaust them. In this case the constructor logs a warning,
  // and only Wake and the timeout end a wait.
  RepositoryWatch(std::filesystem::path root, std::vector<std::filesystem::path> files);

  // Watches the root, the models' folders (at most 4096) and the folders of the files that exist now. Call Refresh
  // before reading these folders, so that later changes end the next wait.
  void Refresh();

  // Returns after an event, a Wake or the timeout. Events of publishers' temporary folders (".tmp-...") are ignored. An
  // event ends the wait no earlier than kMinInterval after the previous Wait returned, so that many events do not make
  // the caller poll without pause.
  void Wait(absl::Duration timeout);
  static constexpr absl::Duration kMinInterval = absl::Milliseconds(50);

  // Ends the current or next Wait. May be called from any thread and repeatedly.
  void Wake();

  bool watching() const { return inotify_.valid() && !refused_; }

 private:
  // Watches a folder: all its entries, or only entries named `name`.
  void Add(const std::filesystem::path& folder, const std::string& name = "");
  void AddEntry(const std::filesystem::path& path);
  void Refused(const std::string& what, int error);
  bool Counts(int watch, const std::string& name) const;
  using TimePoint = std::chrono::steady_clock::time_point;
  void WaitUntil(TimePoint end);
  // Waits. Returns true once Wake was called; false at `end`, or when `inotify` is readable (-1: not checked).
  bool Woken(int inotify, TimePoint end);
  // Reads all pending events. Returns true if one of them is relevant.
  bool TakeEvents();

  const std::filesystem::path root_;
  const std::vector<std::filesystem::path> files_;
  // Relevant names by watch number; an empty set means all names.
  std::map<int, std::set<std::string>> names_;
  FileDescriptor wake_;
  FileDescriptor inotify_;
  bool refused_ = false;  // true: a folder could not be watched, and this was logged
  TimePoint returned_;    // time at which Wait last returned
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_REPOSITORY_WATCH_H_
