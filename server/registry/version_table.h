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
  std::string_view request_id;  // determines the version if a model's requests are divided; empty: by turn
  // Models that an error may name besides the requested one: Caller::models. Null: every one.
  const ModelPatterns* visible = nullptr;
};

// A version with the registry's bookkeeping.
struct KnownVersion {
  VersionStatus status;
  std::weak_ptr<const LoadedModel> retiring;
  int failures = 0;
  absl::Time retry_at = absl::InfinitePast();
  std::string stamp;       // READY: of the loaded files; FAILED: of the manifest
  std::string refused;     // stamp of the whole folder at its last failure
  bool suspended = false;  // see VersionTable::Suspend
};

// All known versions and the routing of requests: the part of the registry that serving threads use. Thread-safe.
// Lookups read an immutable snapshot, so that a thread of low priority that is preempted amid a change delays none of
// them. The result of a lookup stays valid as long as it is held.
class VersionTable {
 public:
  // Called for one change at a time, in their order. Must not block and must not call Subscribe or Unsubscribe.
  using Listener = std::function<void(const v1::ModelEvent&)>;

  // Returns the requested READY version, or without `version` the `stable` one. NOT_FOUND lists the existing ones;
  // UNAVAILABLE before SetComplete; INVALID_ARGUMENT if `model` is not a valid name.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const;
  // Returns the version for a request, by its version, its label or the traffic's shares. INVALID_ARGUMENT if it names
  // both version and label.
  absl::StatusOr<ModelHandle> Route(std::string_view model, const VersionSelector& wish) const;
  // Returns any known version in any state; without `version` the `stable` one, else the newest known. Errors as Find;
  // they name only models in `visible`, see VersionSelector.
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt,
                                    const ModelPatterns* visible = nullptr) const;
  // Returns every known version of one model or of all, by name, then version.
  std::vector<VersionStatus> List(std::string_view model = "") const;
  // Returns every known model, by name.
  std::vector<std::string> Models() const;
  // Returns the versions of one model with their bookkeeping, by version.
  std::vector<KnownVersion> Known(std::string_view model) const;
  // Returns the routing of a model; empty if it is not known.
  TrafficTable Traffic(std::string_view model) const;
  // Returns the waiting versions, each with the reason for people: a READY version that is newer than the serving one
  // and has different class labels or another architecture gets no requests until it is labelled `stable` or has a
  // share.
  std::map<int64_t, std::string> Waiting(std::string_view model) const;
  // Returns the canaries of the plan (canary_guard.h), including suspended ones.
  std::set<int64_t> ActiveCanaries(std::string_view model) const;

  // Changes one version, adding it if it is not known, and notifies the listeners.
  void Change(const VersionId& id, const std::function<void(KnownVersion&)>& change);
  void Remove(const VersionId& id);
  // Takes a version out of the shares and labels of a model, or readmits it, whatever the plan says; a `stable` version
  // still answers. No event.
  void Suspend(const VersionId& id, bool suspended);
  // Sets the plan by which a model is served.
  void SetPlan(const std::string& model, const ModelPlan& plan);
  // Makes unknown models NOT_FOUND instead of UNAVAILABLE (still loading).
  void SetComplete();

  // Calls the listener for every known version, then for each change. Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener);
  // After it returns the listener is not running and will not be called again.
  void Unsubscribe(uint64_t id);

 private:
  struct Entry {
    std::map<int64_t, KnownVersion> versions;
    ModelPlan plan;
    TrafficTable traffic;                         // made from the two above
    std::map<int64_t, std::string> waiting = {};  // see Waiting
    // Number of requests without an id; every copy of the entry counts on.
    std::shared_ptr<std::atomic<uint64_t>> drawn = std::make_shared<std::atomic<uint64_t>>(0);
  };
  struct Snapshot {
    std::map<std::string, std::shared_ptr<const Entry>, std::less<>> models;
    bool complete = false;

    // Returns null for a model that is not known.
    const Entry* Find(std::string_view model) const;
  };

  static bool IsKnown(const Entry& entry);
  static std::set<int64_t> Ready(const Entry& entry);
  static void Divide(Entry& entry);
  static std::map<int64_t, std::string> FindWaiting(const Entry& entry, const std::set<int64_t>& ready);
  static VersionStatus Pinned(const KnownVersion& known);
  static VersionStatus StatusOf(const Entry& entry, const KnownVersion& known);
  static absl::StatusOr<ModelHandle> Serving(const Snapshot& now, std::string_view model, const Entry& entry,
                                             int64_t version);
  static absl::Status NoSuchModel(const Snapshot& now, std::string_view model, const ModelPatterns* visible);
  static absl::Status NotReady(const Snapshot& now, std::string_view model, const Entry& entry,
                               std::optional<int64_t> version);
  static absl::Status NoSuchLabel(const Snapshot& now, std::string_view model, const Entry& entry,
                                  std::string_view label);

  std::shared_ptr<const Snapshot> Now() const;
  void Publish(std::shared_ptr<const Snapshot> next);
  // Publishes a copy of the newest snapshot in which `edit` has changed the entry of `model`, unless it returns false.
  // A model that lost its last version goes with its plan, unless an operator unloaded it.
  void Edit(const std::string& model, const std::function<bool(Entry&)>& edit) ABSL_LOCKS_EXCLUDED(edit_mutex_);

  mutable Mutex mutex_;  // held for no longer than a pointer's copy
  std::shared_ptr<const Snapshot> now_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Snapshot>();

  Mutex edit_mutex_;       // held while a snapshot is made of the one before; taken before mutex_
  Mutex listeners_mutex_;  // held while a change is applied and notified; taken before edit_mutex_
  std::map<uint64_t, Listener> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
  uint64_t next_listener_ ABSL_GUARDED_BY(listeners_mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_TABLE_H_
