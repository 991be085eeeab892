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

// Waits for changes of a repository and of settings files, by inotify. Only a hint that shortens the wait for the next
// poll: the caller must poll periodically in any case, since network file systems send no events and a watch may be
// refused. Thread-compatible except Wake.
class RepositoryWatch {
 public:
  // `files` are settings files, watched through their folders; empty paths are ignored. If inotify is not available
  // (its limits are per user and often exhausted by other programs), this is logged once and only Wake and the timeout
  // end a wait.
  RepositoryWatch(std::filesystem::path root, std::vector<std::filesystem::path> files);

  // Watches the root, each model's folder and the folders of the files as they are now. Must be called before reading
  // them, so that later changes end the next wait.
  void Refresh();

  // Returns after an event, a Wake or the timeout. Events of publishers' temporary folders (".tmp-...") do not count.
  // An event ends the wait no sooner than kMinInterval after the previous wait, so that many events do not make the
  // caller poll without pause.
  void Wait(absl::Duration timeout);
  static constexpr absl::Duration kMinInterval = absl::Milliseconds(50);

  // Ends the current or the next Wait. Any thread, any number of times.
  void Wake();

  bool watching() const { return inotify_.valid() && !refused_; }

 private:
  // Watches a folder: all its entries, or only those named `name`.
  void Add(const std::filesystem::path& folder, const std::string& name = "");
  void AddEntry(const std::filesystem::path& path);
  void Refused(const std::string& what, int error);
  bool Counts(int watch, const std::string& name) const;
  using TimePoint = std::chrono::steady_clock::time_point;
  void WaitUntil(TimePoint end);
  // Waits; returns true once Wake was called, false at `end` or when `inotify` is readable (-1: ignored).
  bool Woken(int inotify, TimePoint end);
  // Reads all pending events; returns true if one of them counts.
  bool TakeEvents();

  const std::filesystem::path root_;
  const std::vector<std::filesystem::path> files_;
  // Key: watch. Names that count; an empty set means all.
  std::map<int, std::set<std::string>> names_;
  FileDescriptor wake_;
  FileDescriptor inotify_;
  bool refused_ = false;  // a folder could not be watched, and that was logged
  TimePoint returned_;    // when Wait last returned
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_REPOSITORY_WATCH_H_
