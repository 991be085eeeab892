// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_REGISTRY_H_
#define VITRINE_SERVER_MODELS_REGISTRY_REGISTRY_H_

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
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/loaded_model.h"
#include "server/models/registry/memory_budget.h"
#include "server/models/registry/reclaimer.h"
#include "server/models/registry/repository_watch.h"
#include "server/models/registry/serving_settings.h"
#include "server/models/registry/version_policy.h"
#include "server/models/registry/version_table.h"
#include "server/process/clock.h"

namespace vitrine {

struct RegistryOptions {
  std::filesystem::path root;
  // How often the repository is looked at even if nothing tells of a change.
  absl::Duration poll_interval = absl::Seconds(1);
  // How many of the newest good versions of a model are in memory, where the settings give no policy.
  int keep_versions = 1;
  // A version that failed is tried again when its manifest changes, when the other files of its folder have changed
  // and rest for a look, and after a delay that doubles from first to last.
  absl::Duration first_retry = absl::Seconds(2);
  absl::Duration last_retry = absl::Minutes(2);
  // What versions are computed in where the settings say nothing: "fp32", "bf16" or "int8".
  std::string precision = "fp32";
  // See ServingSettings::Options; empty: none.
  std::string serving_config;
  std::string admin_state;
  // Most bytes of the weights of all models in memory. Swapping needs room for two versions of a model.
  int64_t max_memory_bytes = kNoMemoryLimit;
  // Models that are loaded side by side, at least 1; the versions of one model come one after the other.
  int loads_at_once = 1;

  absl::Status Validate() const;  // names the field, the value and the allowed range
  ServingSettings::Options Serving() const;
};

// The models in memory, kept in step with a repository on disk and with the settings. Thread-safe.
//
// New versions are verified, run on their goldens and swapped in while the old one serves. What is READY is never lost
// to anything that happens on disk: a corrupt, partial or vanished version or repository leaves the last good one
// serving. A version whose files are replaced in place, which nobody should do, is loaded anew with a warning. What is
// no longer held is freed during a look, whoever held it last.
class Registry {
 public:
  using Loader = std::function<absl::StatusOr<ModelHandle>(const VersionId&)>;
  // Bytes that a version on disk will take at least, from its manifest.
  using Sizer = std::function<absl::StatusOr<int64_t>(const VersionId&)>;
  using Listener = VersionTable::Listener;

  // What the registry works with; all of it outlives the registry.
  struct Parts {
    Loader load;
    Sizer bytes_of = nullptr;             // null: the limit of memory is checked after loading only
    ServingSettings* settings = nullptr;  // null: as the options say, which are valid
    ModelLimitsTable* limits = nullptr;   // told the limits of the settings; may be null
    // Told of every attempt to load: what it came to and how long it took. May be null.
    std::function<void(const VersionId& id, const absl::Status& outcome, absl::Duration spent)> attempted = nullptr;
  };

  Registry(RegistryOptions options, Parts parts, const Clock& clock);
  Registry(RegistryOptions options, Loader loader, const Clock& clock)
      : Registry(std::move(options), Parts{.load = std::move(loader)}, clock) {}
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Follows the repository on a thread of its own, at low priority, until Stop: at once when something changes, where
  // the system tells, and every poll_interval.
  void Start();
  // Waits for the load that is running, begins no other. Idempotent, for good.
  void Stop();
  // Stop was called; the thread may still be at its last load.
  bool stopping() const { return stop_.load(std::memory_order_acquire); }
  // False if the first poll that could read the repository has not ended within the timeout.
  bool WaitForFirstPoll(absl::Duration timeout);

  // One look at the repository and the settings: loads, swaps and retires. Returns when it is done.
  void Poll();
  // The same on the registry's thread, if it has one: returns when a look that began after the call has ended. A
  // version in `retry` is tried at once whatever its last failure. UNAVAILABLE if the registry stops meanwhile;
  // DEADLINE_EXCEEDED if the look has not ended within `patience`, as behind the load of another model. It comes all
  // the same.
  absl::Status Reconcile(const std::vector<VersionId>& retry = {}, absl::Duration patience = absl::InfiniteDuration());
  // Divides the requests of a model among the versions in memory as the settings say now, without a look.
  void Divide(const std::string& model);

  // See VersionTable.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const {
    return table_.Find(model, version);
  }
  absl::StatusOr<ModelHandle> Route(std::string_view model, const VersionWish& wish) const {
    return table_.Route(model, wish);
  }
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt,
                                    const ModelPatterns* visible = nullptr) const {
    return table_.Get(model, version, visible);
  }
  std::vector<VersionStatus> List(std::string_view model = "") const { return table_.List(model); }
  TrafficTable Traffic(std::string_view model) const { return table_.Traffic(model); }
  std::set<int64_t> TriedOut(std::string_view model) const { return table_.TriedOut(model); }
  void Suspend(const VersionId& id, bool suspended) { table_.Suspend(id, suspended); }
  // What a look would load next if the model were served so; nothing where all of that is in memory or was refused.
  std::optional<int64_t> NextLoad(const std::string& model, const ModelPlan& plan) const;
  uint64_t Subscribe(Listener listener) { return table_.Subscribe(std::move(listener)); }
  void Unsubscribe(uint64_t id) { table_.Unsubscribe(id); }

  // The whole repository could be read at the last poll; else what could not, see Listing. OK before the first.
  absl::Status repository_status() const;
  // Where the repository held no version at the last poll: why, see WhyNoVersions. Empty otherwise.
  std::string WhyEmpty() const;
  // Of every READY version.
  std::vector<ModelHandle> ReadyModels() const;
  // The versions that the repository held at the last poll, sorted.
  std::vector<VersionId> OnDisk() const;
  // Cores that a load may compute on now: before the first look has ended nobody is served, and the loads that run
  // share loads_at_once of them; later one, so that those who serve keep theirs.
  int CoresPerLoad() const;
  const RegistryOptions& options() const { return options_; }

 private:
  // A model, and its versions on disk; null: nobody knows them.
  struct ModelLook {
    std::string model;
    const std::set<int64_t>* present;
  };

  // Steps of Poll; they run on one thread at a time for each model.
  void PollModel(const std::string& model, const std::set<int64_t>* present);
  bool LoadsSomething(const std::string& model, const std::set<int64_t>* present) const;
  void PollSideBySide(const std::vector<ModelLook>& looks);
  ModelPlan TakePlan(const std::string& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(plan_mutex_);
  void ForgetFailed(const std::string& model, const std::set<int64_t>& present);
  std::vector<VersionFacts> Facts(const std::string& model, const std::set<int64_t>* present,
                                  const std::set<int64_t>& tried) const;
  void Bring(const VersionId& id, const ModelPlan& plan);
  bool IsReplaced(const KnownVersion& known, const std::set<int64_t>& present) const;
  void ReloadReplaced(const std::string& model, const std::set<int64_t>& present);
  void Replace(const KnownVersion& known);
  // What came is claimed until it is in the table.
  absl::StatusOr<ModelHandle> Load(const VersionId& id, const ModelPlan& plan);
  absl::StatusOr<ModelHandle> LoadWithinLimits(const VersionId& id, const ModelPlan& plan);
  static void TellReady(const LoadedModel& loaded, absl::Duration spent);
  absl::Duration DelayAfter(int failures) const;  // of as many attempts before this one
  // The stamps are those of before the attempt, so that files that change meanwhile are noticed.
  void TellFailure(const VersionId& id, const absl::Status& fault, const std::string& manifest_stamp,
                   const std::string& folder_stamp);
  void Retire(const VersionId& id, const ModelPlan& plan);
  void ReapRetired();
  void TellUnreadable(const std::map<std::string, absl::Status>& models);
  void TellRepositoryStatus(const absl::StatusOr<Listing>& listed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);
  // What a version is loaded from as it is now, and the precision that it is to be computed in.
  std::string ManifestStamp(const VersionId& id) const;
  std::string FilesStamp(const VersionId& id) const;
  std::string FolderStamp(const VersionId& id) const;  // of every file
  // Lets a version that was refused be tried again at once where its folder has changed since, and not since the last
  // look: a copy that ended need not wait for the next try.
  void RetryChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);
  // Each once, until it is gone: links in the repository; models and versions of the settings that it does not hold.
  void TellLinks(const std::vector<std::string>& links) ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);
  void TellAbsent(const std::map<std::string, std::set<int64_t>>& present) ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);

  void Follow();

  const RegistryOptions options_;
  const Clock& clock_;
  const std::unique_ptr<ServingSettings> own_settings_;  // where none are given
  const Parts parts_;
  ServingSettings& settings_;
  RepositoryWatch watch_;  // used by the thread of Follow, but for Wake
  VersionTable table_;
  MemoryClaims claims_{[this] { return table_.List(); }};
  Reclaimer reclaimer_{[this] { watch_.Wake(); }};  // after watch_, which it wakes
  std::atomic<bool> stop_ = false;

  Mutex poll_mutex_;                                                         // held during a look
  std::string empty_stamp_ ABSL_GUARDED_BY(poll_mutex_);                     // of the root where it holds no version
  std::map<VersionId, std::string> looked_at_ ABSL_GUARDED_BY(poll_mutex_);  // folders of versions that were refused
  std::set<std::string> links_told_ ABSL_GUARDED_BY(poll_mutex_);
  std::set<VersionId> absent_told_ ABSL_GUARDED_BY(poll_mutex_);
  // Held while a plan is taken from the settings, put into the table and versions retire by it: no old one comes after
  // a new one.
  Mutex plan_mutex_;

  mutable Mutex mutex_;
  CondVar looked_;
  absl::Status repository_status_ ABSL_GUARDED_BY(mutex_);
  std::string why_empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<VersionId> on_disk_ ABSL_GUARDED_BY(mutex_);
  bool first_poll_done_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;  // looks that somebody waits for
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;   // of them
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // of Follow
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_REGISTRY_H_
