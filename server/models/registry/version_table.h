// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_VERSION_TABLE_H_
#define VITRINE_SERVER_MODELS_REGISTRY_VERSION_TABLE_H_

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
#include "base/mutex.h"
#include "server/identity/caller.h"
#include "server/models/registry/traffic.h"
#include "server/models/registry/version_status.h"

namespace vitrine {

// Which version a request wants. At most one of `version` and `label` is set.
struct VersionWish {
  std::optional<int64_t> version;
  std::string_view label;
  std::string_view request_id;  // decides, where the requests of a model are divided; empty: drawn in turn
  // Models that a refusal may name beside the one asked for: Caller::models. Null: every one.
  const ModelPatterns* visible = nullptr;
};

// What the registry knows of a version beside how it stands.
struct KnownVersion {
  VersionStatus status;
  std::weak_ptr<const LoadedModel> retiring;
  int failures = 0;
  absl::Time retry_at = absl::InfinitePast();
  std::string stamp;       // READY: of the files that were loaded; FAILED: of the manifest
  std::string refused;     // of the whole folder as it was when it was last refused
  bool suspended = false;  // see VersionTable::Suspend
};

// Every version known, and where requests go: the part of the registry that the threads which serve look into.
// Thread-safe; lookups take one short lock. What a lookup returns is pinned and stays valid.
class VersionTable {
 public:
  // Calls come one at a time, in the order of the changes. Must not block and must not call Subscribe or Unsubscribe.
  using Listener = std::function<void(const v1::ModelEvent&)>;

  // The version that serves: the one asked for, or the `stable` one. NOT_FOUND lists what there is; before SetComplete,
  // UNAVAILABLE. INVALID_ARGUMENT for what is no name of a model.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const;
  // For a request: by its version, its label, or as the traffic is divided. INVALID_ARGUMENT if it names both.
  absl::StatusOr<ModelHandle> Route(std::string_view model, const VersionWish& wish) const;
  // Any known version, whatever its state; without a version the `stable` one, else the newest known. NOT_FOUND as
  // above; it names models as VersionWish::visible says.
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt,
                                    const ModelPatterns* visible = nullptr) const;
  // Every version known, by name, then version; of one model or of all.
  std::vector<VersionStatus> List(std::string_view model = "") const;
  // Every model known, by name.
  std::vector<std::string> Models() const;
  // The bookkeeping of the versions of one model, by version.
  std::vector<KnownVersion> Known(std::string_view model) const;
  // Where a model's requests go; empty for one that is not known.
  TrafficTable Traffic(std::string_view model) const;
  // The versions that wait, and why, for people: a version that turns READY beside the one that serves, and has other
  // class labels or another architecture, gets no requests until it is labelled `stable` or has a share.
  std::map<int64_t, std::string> Waiting(std::string_view model) const;
  // The versions that the plan tries out (canary_guard.h), suspended ones among them.
  std::set<int64_t> TriedOut(std::string_view model) const;

  // Changes one version, which is known from then on, and tells the listeners.
  void Change(const VersionId& id, const std::function<void(KnownVersion&)>& change);
  void Remove(const VersionId& id);
  // Takes a version out of the shares and labels of a model, or lets it back in, whatever the plan says; the version
  // that is `stable` answers all the same. No event.
  void Suspend(const VersionId& id, bool suspended);
  // How a model is served from now on.
  void SetPlan(const std::string& model, const ModelPlan& plan);
  // What is not known from now on is not there, rather than not loaded yet.
  void SetComplete();

  // The listener first hears of every version known, then of each change. Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener);
  // After it returns the listener is not running and will not be called again.
  void Unsubscribe(uint64_t id);

 private:
  struct Entry {
    std::map<int64_t, KnownVersion> versions;
    ModelPlan plan;
    TrafficTable traffic;                         // of the two above
    std::map<int64_t, std::string> waiting = {};  // see Waiting
    mutable uint64_t drawn = 0;                   // requests without an id
  };

  static bool IsKnown(const Entry& entry);
  static std::set<int64_t> Ready(const Entry& entry);
  static void Divide(Entry& entry);
  static std::map<int64_t, std::string> FindWaiting(const Entry& entry, const std::set<int64_t>& ready);
  static VersionStatus Pinned(const KnownVersion& known);
  static VersionStatus Snapshot(const Entry& entry, const KnownVersion& known);
  const Entry* FindEntry(std::string_view model) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<ModelHandle> Serving(std::string_view model, const Entry& entry, int64_t version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoSuchModel(std::string_view model, const ModelPatterns* visible) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NotReady(std::string_view model, const Entry& entry, std::optional<int64_t> version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoSuchLabel(std::string_view model, const Entry& entry, std::string_view label) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> models_ ABSL_GUARDED_BY(mutex_);
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex listeners_mutex_;  // held while a change is applied and told; taken before mutex_
  std::map<uint64_t, Listener> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
  uint64_t next_listener_ ABSL_GUARDED_BY(listeners_mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_VERSION_TABLE_H_
