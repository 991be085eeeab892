// SPDX-License-Identifier: Apache-2.0
#include "server/registry/repository_watch.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Events that show a change: renames (a published version), new folders and closed files (a new model, a manual copy),
// and removals. The flag IN_ONLYDIR restricts the watches to folders.
constexpr uint32_t kEvents =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// Maximum number of models whose folders are watched; polling finds changes of the other models.
constexpr int kMostFolders = 4096;

}  // namespace

RepositoryWatch::RepositoryWatch(std::filesystem::path root, std::vector<std::filesystem::path> files)
    : root_(std::move(root)),
      files_(std::move(files)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!inotify_.valid()) Refused("inotify", errno);
}

void RepositoryWatch::Refused(const std::string& what, int error) {
  if (std::exchange(refused_, true)) return;
  const std::string limit = error == EMFILE
                                ? "; fs.inotify.max_user_instances or the descriptors of this process are exhausted"
                            : error == ENOSPC ? "; fs.inotify.max_user_watches is exhausted"
                                              : "";
  spdlog::warn("{} cannot be watched: {}{}; changes are noticed at the next poll instead of at once", what,
               std::generic_category().message(error), limit);
}

// Adds a watch. If the folder is already watched, inotify returns the same watch number.
void RepositoryWatch::Add(const std::filesystem::path& folder, const std::string& name) {
  const int watch = inotify_add_watch(inotify_.get(), folder.c_str(), kEvents);
  if (watch >= 0) {
    const bool had_all = names_.contains(watch) && names_[watch].empty();
    if (name.empty()) {
      names_[watch].clear();
    } else if (!had_all) {
      names_[watch].insert(name);
    }
    return;
  }
  // The folder is missing, is a file, or is not accessible. If this is a fault, the poll reports it.
  if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return;
  Refused(folder.string(), errno);
}

void RepositoryWatch::AddEntry(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  Add(folder, path.filename().string());
  // Files of a mounted ConfigMap are reached through this link; an update renames a new link to this name.
  Add(folder, "..data");
}

void RepositoryWatch::Refresh() {
  if (!inotify_.valid()) return;
  names_.clear();
  Add(root_);
  // If the root is removed and created again, the watch of its parent folder reports the new root.
  AddEntry(root_);
  for (const std::filesystem::path& file : files_) {
    if (!file.empty()) AddEntry(file);
  }
  std::error_code error;
  int folders = 0;
  for (std::filesystem::directory_iterator entry(root_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string()[0] == '.' || ++folders > kMostFolders) continue;
    Add(entry->path());
  }
}

void RepositoryWatch::Wait(absl::Duration timeout) {
  WaitUntil(std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout));
  returned_ = std::chrono::steady_clock::now();
}

void RepositoryWatch::WaitUntil(TimePoint end) {
  do {
    if (Woken(inotify_.get(), end)) return;
    if (!TakeEvents()) continue;
    const TimePoint quiet = returned_ + absl::ToChronoNanoseconds(kMinInterval);
    while (std::chrono::steady_clock::now() < quiet) {
      if (Woken(/*inotify=*/-1, quiet)) return;
    }
    // Events up to now need no further poll, because the caller polls after this return.
    TakeEvents();
    return;
  } while (std::chrono::steady_clock::now() < end);
}

bool RepositoryWatch::Woken(int inotify, TimePoint end) {
  // poll() ignores a descriptor of -1.
  pollfd waiting[2] = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                       {.fd = inotify, .events = POLLIN, .revents = 0}};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
  // The timeout is rounded up: otherwise the last millisecond would be a busy loop.
  const int got = poll(waiting, 2, static_cast<int>(std::clamp<int64_t>(left + 1, 0, 3'600'000)));
  if (got < 0) return errno != EINTR;
  eventfd_t count = 0;
  return waiting[0].revents != 0 && eventfd_read(wake_.get(), &count) == 0;
}

void RepositoryWatch::Wake() {
  eventfd_write(wake_.get(), 1);
}

bool RepositoryWatch::Counts(int watch, const std::string& name) const {
  const auto names = names_.find(watch);
  if (names == names_.end()) return false;
  return names->second.empty() ? name[0] != '.' : names->second.contains(name);
}

bool RepositoryWatch::TakeEvents() {
  bool counts = false;
  alignas(inotify_event) char bytes[16384];
  for (;;) {
    const ssize_t got = read(inotify_.get(), bytes, sizeof(bytes));
    if (got <= 0) return counts;
    for (const char* at = bytes; at < bytes + got;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof(event));
      const char* name = at + sizeof(event);
      counts = counts || event.len == 0 || Counts(event.wd, name);
      at += sizeof(event) + event.len;
    }
  }
}

}  // namespace vitrine
