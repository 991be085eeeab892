#ifndef VITRINE_SERVER_REGISTRY_H_
#define VITRINE_SERVER_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/clock.h"
#include "server/loaded_model.h"
#include "server/mutex.h"
#include "server/ticker.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

struct RegistryOptions {
  std::filesystem::path root;
  // How often the repository is looked at.
  absl::Duration poll_interval = absl::Seconds(1);
  // How many of the newest good versions of a model are in memory; the newest serves by default.
  int keep_versions = 1;
  // A version that failed is tried again when its manifest changes, and after a delay that doubles from first to last.
  absl::Duration first_retry = absl::Seconds(2);
  absl::Duration last_retry = absl::Minutes(2);

  absl::Status Validate() const;  // names the field, the value and the allowed range
};

// A version and how it stands. `model` is set while READY, and while RETIRING as long as a request holds it.
struct VersionStatus {
  VersionId id;
  v1::ModelState state = v1::MODEL_STATE_UNSPECIFIED;
  std::string reason;  // FAILED only
  ModelHandle model;
};

// As the Registry service shows it. Labels are long and only wanted by GetModel.
v1::ModelVersion Describe(const VersionStatus& status, bool with_labels);

// The models in memory, kept in step with a repository on disk. Thread-safe.
//
// New versions are verified, run on their goldens and swapped in while the old one serves. What is READY is never lost
// to anything that happens on disk: a corrupt, partial or vanished version or repository leaves the last good one
// serving.
class Registry {
 public:
  using Loader = std::function<absl::StatusOr<ModelHandle>(const VersionId&)>;
  // Calls come one at a time, in the order of the changes, from the registry's thread (and once per known version from
  // inside Subscribe). Must not block and must not call Subscribe or Unsubscribe.
  using Listener = std::function<void(const v1::ModelEvent&)>;

  Registry(RegistryOptions options, Loader loader, const Clock& clock);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Polls on a thread of its own, at low priority, until Stop.
  void Start();
  // Waits for the load that is running, begins no other. Idempotent, for good.
  void Stop();
  // Stop was called; the thread may still be at its last load.
  bool stopping() const { return stop_.load(std::memory_order_acquire); }
  // False if the first poll after Start has not ended within the timeout.
  bool WaitForFirstPoll(absl::Duration timeout);

  // One look at the repository: loads, swaps and retires. Returns when it is done. Not concurrently with Start.
  void Poll();

  // The version that serves: the one asked for, or the newest READY one. NOT_FOUND lists what there is.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const;
  // Any known version, whatever its state; without a version the newest READY one, else the newest known. NOT_FOUND as
  // above.
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt) const;
  // Every version known, by name, then version.
  std::vector<VersionStatus> List() const;
  // The repository could be read at the last poll. OK before the first.
  absl::Status repository_status() const;

  // The listener first hears of every version known, then of each change. Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener);
  // After it returns the listener is not running and will not be called again.
  void Unsubscribe(uint64_t id);

 private:
  struct Known {
    VersionStatus status;
    std::weak_ptr<const LoadedModel> retiring;
    int failures = 0;
    absl::Time retry_at = absl::InfinitePast();
    std::string manifest_stamp;  // size and time of the manifest that failed
  };

  // Steps of Poll; they run on one thread at a time.
  void PollModel(const std::string& model, const std::set<int64_t>& present);
  bool IsReady(const VersionId& id) const;
  bool MayLoad(const VersionId& id) const;
  bool TryLoad(const VersionId& id);
  void RetireAllBut(const std::string& model, int keep);
  void ReapRetired();
  std::string ManifestStamp(const VersionId& id) const;

  // Apply a change and tell the listeners.
  void Change(const VersionId& id, const std::function<void(Known&)>& change);
  void Remove(const VersionId& id);

  std::vector<VersionStatus> Versions(const std::string& model) const;
  static VersionStatus Snapshot(const Known& known);
  const Known* FindKnown(const VersionId& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NotFound(std::string_view model, std::optional<int64_t> version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RegistryOptions options_;
  const Loader loader_;
  const Clock& clock_;
  std::atomic<bool> stop_ = false;

  mutable Mutex mutex_;
  CondVar polled_;
  std::map<std::string, std::map<int64_t, Known>, std::less<>> models_ ABSL_GUARDED_BY(mutex_);
  absl::Status repository_status_ ABSL_GUARDED_BY(mutex_);
  bool first_poll_done_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex listeners_mutex_;  // held while a change is applied and told; taken before mutex_
  std::map<uint64_t, Listener> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
  uint64_t next_listener_ ABSL_GUARDED_BY(listeners_mutex_) = 1;

  Mutex poller_mutex_;
  std::unique_ptr<Ticker> poller_ ABSL_GUARDED_BY(poller_mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_H_
