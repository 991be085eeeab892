// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_REPOSITORY_WATCH_H_
#define VITRINE_SERVER_MODELS_REGISTRY_REPOSITORY_WATCH_H_

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "repository/safe_file.h"

namespace vitrine {

// Waits until something happens to a repository or to the files beside it, by inotify. Only a hint that makes the next
// look come at once: whoever waits looks again after a while in any case, since network file systems tell nothing, and
// a watch may be refused. Thread-compatible but for Wake.
class RepositoryWatch {
 public:
  // `files` are settings files that are watched through their folders; empty paths are passed over. Where inotify is
  // not to be had (its limits are per user and often exhausted by others) this is said once in the log, and only Wake
  // and the timeout end a wait.
  RepositoryWatch(std::filesystem::path root, std::vector<std::filesystem::path> files);

  // Watches the root, each model's folder and the folders of the files as they are now. Call before looking at them:
  // what happens after the look then ends the next wait.
  void Refresh();

  // Returns after an event, a Wake or the timeout. Events of temporary folders of publishers (".tmp-...") do not count.
  // An event ends the wait at once, but not sooner than kMinInterval after the wait before: in a storm of events
  // whoever looks after each wait would do nothing else.
  void Wait(absl::Duration timeout);
  static constexpr absl::Duration kMinInterval = absl::Milliseconds(50);

  // Ends the present or the next Wait. Any thread, any number of times.
  void Wake();

  bool watching() const { return inotify_.valid() && !refused_; }

 private:
  // Watches a folder: everything in it, or only entries with this name.
  void Add(const std::filesystem::path& folder, const std::string& name = "");
  void AddEntry(const std::filesystem::path& path);
  void Refused(const std::string& what, int error);
  bool Counts(int watch, const std::string& name) const;
  using TimePoint = std::chrono::steady_clock::time_point;
  void WaitUntil(TimePoint end);
  // True as soon as Wake was called; false at `end`, or when `inotify` has something to read (-1: it is not looked at).
  bool Woken(int inotify, TimePoint end);
  // Takes what there is; true if any of it counts.
  bool TakeEvents();

  const std::filesystem::path root_;
  const std::vector<std::filesystem::path> files_;
  // By watch: the names that count; none stands for all.
  std::map<int, std::set<std::string>> names_;
  FileDescriptor wake_;
  FileDescriptor inotify_;
  bool refused_ = false;  // some folder could not be watched, and it was said
  TimePoint returned_;    // when Wait last did
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_REPOSITORY_WATCH_H_
