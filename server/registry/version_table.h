// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_TABLE_H_
#define VITRINE_SERVER_REGISTRY_VERSION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/identity/caller.h"
#include "server/registry/settings/traffic.h"
#include "server/registry/version/version_status.h"

namespace vitrine {

// Selects a version for a request. At most one of `version` and `label` may be set.
struct VersionSelector {
  std::optional<int64_t> version;
  std::string_view label;
  // Id that chooses the version if shares divide a model's requests; empty: versions alternate by their shares.
  std::string_view request_id;
  // Patterns of the models that an error may name in addition to the requested model (Caller::models). Null: all
  // models.
  const ModelPatterns* visible = nullptr;
};

// A version and the registry's data about it.
struct KnownVersion {
  VersionStatus status;
  std::weak_ptr<const LoadedModel> retiring;
  int failures = 0;
  absl::Time retry_at = absl::InfinitePast();
  std::string stamp;       // READY: stamp of the loaded files; FAILED: stamp of the manifest
  std::string refused;     // stamp of the whole folder at the last failure
  bool suspended = false;  // see VersionTable::Suspend
};

// All known versions and the routing of requests: this is the part of the registry that serving threads use.
// Thread-safe. Lookups read an immutable snapshot, so a low-priority thread that is preempted during a change does not
// delay them. A result stays valid as long as the caller keeps it.
class VersionTable {
 public:
  // Called for one change at a time, in the order of the changes. Must not block and must not call Subscribe or
  // Unsubscribe.
  using Listener = std::function<void(const v1::ModelEvent&)>;

  // Returns the requested READY version, or the `stable` version if `version` is not set. NOT_FOUND lists the existing
  // models or versions. UNAVAILABLE: before SetComplete, or the model's folder cannot be read. INVALID_ARGUMENT:
  // `model` is not a valid name.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const;
  // Returns the version that serves a request: the requested version or label, otherwise the version that the traffic
  // shares choose. INVALID_ARGUMENT: the request names both a version and a label. For other errors, see Find.
  absl::StatusOr<ModelHandle> Route(std::string_view model, const VersionSelector& requested) const;
  // Returns a known version in any state. Without `version`, returns the `stable` version or, if there is none, the
  // newest version. For errors, see Find. The messages name only models in `visible` (see VersionSelector). The status
  // has the same reason as in ListForCallers.
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt,
                                    const ModelPatterns* visible = nullptr) const;
  // Returns every known version of one model or of all models, sorted by name, then version.
  std::vector<VersionStatus> List(std::string_view model = "") const;
  // Returns List() with one difference: a `stable` version without a reason gets a reason. It lists the versions of the
  // model that were rolled back or unloaded, latest first, each with the cause and the command that loads it again.
  std::vector<VersionStatus> ListForCallers() const;
  // Returns every known model, sorted by name.
  std::vector<std::string> Models() const;
  // Returns the versions of one model with the registry's data about them, sorted by version.
  std::vector<KnownVersion> Known(std::string_view model) const;
  // Returns the routing of a model; empty if the model is not known.
  TrafficTable Traffic(std::string_view model) const;
  // Returns the waiting versions, each with the reason why it waits, as text for people. While no READY version is
  // labelled `stable`, a version that is newer than the serving version waits if it has different class labels or
  // another architecture. A waiting version gets only requests that name it, until it has the label `stable` or
  // `canary`, or a share.
  std::map<int64_t, std::string> Waiting(std::string_view model) const;
  // Returns the canaries of the plan (canary_guard.h), including suspended canaries.
  std::set<int64_t> ActiveCanaries(std::string_view model) const;

  // Changes one version, adding it if it is not known, and notifies the listeners.
  void Change(const VersionId& id, const std::function<void(KnownVersion&)>& change);
  void Remove(const VersionId& id);
  // Removes a version from the shares and labels of a model, or puts it back, regardless of the plan. A suspended
  // `stable` version still answers. Sends no event.
  void Suspend(const VersionId& id, bool suspended);
  // Sets the plan by which a model is served. `stable_on_disk`: the version that the plan labels `stable` is in the
  // repository. Until the server has tried to load this version, the previous `stable` version, if any, stays `stable`.
  void SetPlan(const std::string& model, const ModelPlan& plan, bool stable_on_disk = false);
  // After this call, requests for an unknown model get NOT_FOUND. Before this call they get UNAVAILABLE, because the
  // model may still be loading.
  void SetComplete();

  // Calls the listener for every known version, then for each change. Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener);
  // Removes a listener. Once Unsubscribe returns, the listener is not running and will not be called again.
  void Unsubscribe(uint64_t id);

 private:
  struct Entry {
    std::map<int64_t, KnownVersion> versions;
    ModelPlan plan;
    bool stable_on_disk = false;                  // argument of SetPlan
    TrafficTable traffic;                         // made from `versions` and `plan`
    std::map<int64_t, std::string> waiting = {};  // result of Waiting
    // Number of requests without an id; all copies of the entry share it.
    std::shared_ptr<std::atomic<uint64_t>> drawn = std::make_shared<std::atomic<uint64_t>>(0);
  };
  struct Snapshot {
    std::map<std::string, std::shared_ptr<const Entry>, std::less<>> models;
    bool complete = false;

    // Returns null if the model is not known.
    const Entry* Find(std::string_view model) const;
  };

  static bool IsKnown(const Entry& entry);
  static std::set<int64_t> Ready(const Entry& entry);
  static TrafficTable Divided(const Entry& entry, const std::set<int64_t>& ready);
  static void Divide(Entry& entry);
  static std::map<int64_t, std::string> FindWaiting(const Entry& entry, const std::set<int64_t>& ready);
  static VersionStatus Pinned(const KnownVersion& known);
  static VersionStatus StatusOf(const Entry& entry, const KnownVersion& known);
  static VersionStatus ExplainedStatusOf(const Entry& entry, const KnownVersion& known);  // see ListForCallers
  static absl::StatusOr<ModelHandle> Serving(const Snapshot& now, std::string_view model, const Entry& entry,
                                             int64_t version);
  static absl::Status NoSuchModel(const Snapshot& now, std::string_view model, const ModelPatterns* visible);
  static absl::Status NotReady(const Snapshot& now, std::string_view model, const Entry& entry,
                               std::optional<int64_t> version);
  static absl::Status NoSuchLabel(const Snapshot& now, std::string_view model, const Entry& entry,
                                  std::string_view label);

  std::shared_ptr<const Snapshot> Now() const;
  void Publish(std::shared_ptr<const Snapshot> next);
  // Copies the newest snapshot, calls `edit` with the copy's entry of `model`, and publishes the copy if `edit` returns
  // true. If `edit` removed the last version, the entry is removed too, except if an operator unloaded the model.
  void Edit(const std::string& model, const std::function<bool(Entry&)>& edit) ABSL_LOCKS_EXCLUDED(edit_mutex_);

  mutable Mutex mutex_;  // locked only to copy or swap a pointer
  std::shared_ptr<const Snapshot> now_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Snapshot>();

  Mutex edit_mutex_;       // locked while a new snapshot is made; taken before mutex_
  Mutex listeners_mutex_;  // locked while a change is applied and listeners are notified; taken before edit_mutex_
  std::map<uint64_t, Listener> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
  uint64_t next_listener_ ABSL_GUARDED_BY(listeners_mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_TABLE_H_
