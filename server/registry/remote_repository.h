// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_REMOTE_REPOSITORY_H_
#define VITRINE_SERVER_REGISTRY_REMOTE_REPOSITORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/child_process.h"

namespace vitrine {

struct RemoteRepositoryOptions {
  // Folder of this server's copy of the remote repository. Created if missing; it survives a restart.
  std::string cache = {};
  // Limit of the copy's size; 0: none. While a version is replaced, the old and the new files count.
  int64_t cache_bytes = 0;
  // Interval at which the copy is refreshed. A shorter interval shows new versions earlier and costs more requests.
  absl::Duration refresh = absl::Minutes(1);

  // Checks these options together with `source`, the value of --repository: a folder or an address.
  absl::Status Validate(const std::string& source) const;
};

// Returns true for an address such as s3://bucket/prefix, false for a folder.
bool IsRemoteRepository(std::string_view repository);

// Returns the time of the last complete refresh of `cache` from `source`; InfinitePast if there was none.
absl::Time TimeOfRefresh(const std::string& cache, const std::string& source);
// Returns a function that calls TimeOfRefresh; null if `source` is a folder.
std::function<absl::Time()> RefreshSource(const std::string& cache, const std::string& source);

// Keeps a copy of a remote repository: runs `vitrine-repo pull --watch` as a child process, logs its output, and starts
// it again if it ends. The server reads only the copy, so it needs neither the source nor credentials to serve. The
// child removes versions that the source no longer has.
class RemoteRepository {
 public:
  // Starts a thread that runs the child. `program` is the path of vitrine-repo.
  RemoteRepository(std::string source, RemoteRepositoryOptions options, const std::string& program);
  // Calls Stop.
  ~RemoteRepository();
  RemoteRepository(const RemoteRepository&) = delete;
  RemoteRepository& operator=(const RemoteRepository&) = delete;

  // Ends the child and does not start it again. The copy stays. Idempotent; thread-safe.
  void Stop();

  // Returns true once a refresh has ended with a copy that can be served, even if the copy lacks versions. The refresh
  // may have run before a restart of the server.
  bool HasCopy() const;
  // Returns true once a complete copy exists. It may have been made before a restart of the server.
  bool IsComplete() const;

 private:
  void Loop();
  // Runs the child until it ends. Returns a text for the log that says why the child ended.
  std::string RunOnce();
  // Waits for `duration`. Returns false if Stop was called.
  bool Sleep(absl::Duration duration);

  const std::string source_;
  const RemoteRepositoryOptions options_;
  const std::vector<std::string> command_;
  Mutex mutex_;
  CondVar stopping_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<ChildProcess> child_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last member: it uses the members above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_REMOTE_REPOSITORY_H_
