// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_REGISTRY_H_
#define VITRINE_SERVER_REGISTRY_REGISTRY_H_

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
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/registry/reclaimer.h"
#include "server/registry/repository_watch.h"
#include "server/registry/settings/serving_settings.h"
#include "server/registry/settings/version_policy.h"
#include "server/registry/version/loaded_model.h"
#include "server/registry/version/memory_budget.h"
#include "server/registry/version_table.h"

namespace vitrine {

struct RegistryOptions {
  std::filesystem::path root;
  // Polling interval of the repository while the system reports no change.
  absl::Duration poll_interval = absl::Seconds(1);
  // Number of newest valid versions that stay loaded when no version policy is set.
  int keep_versions = 1;
  // Delay before a failed version is tried again. It starts at first_retry and doubles up to last_retry. The version is
  // tried earlier if its manifest changes, or if other files of its folder have changed and the next poll finds no
  // further change.
  absl::Duration first_retry = absl::Seconds(2);
  absl::Duration last_retry = absl::Minutes(2);
  // Precision of versions without a setting: "fp32", "bf16", "int8", or "auto": see DefaultPrecision.
  std::string precision = "auto";
  // Licence patterns. Versions with a matching licence are not loaded (see CheckLicence).
  std::vector<std::string> refused_licences = {};
  // File of --serving-config: see ServingSettings::Options. Empty: no file.
  std::string serving_config;
  std::string admin_state;
  // Maximum memory of all loaded models, in bytes. While a version is replaced, the old and the new version count.
  int64_t max_memory_bytes = kNoMemoryLimit;
  // Number of models loaded in parallel, at least 1; the versions of one model are loaded one after the other.
  int loads_at_once = 1;

  absl::Status Validate() const;  // an error names the flag or field, the value and the allowed range
  ServingSettings::Options Serving() const;
};

// The set of models in memory, which follows a repository on disk and the settings. Thread-safe.
//
// A new version is verified and computes its goldens while the old version serves; then the new version replaces the
// old version. No event on disk removes a READY version: if a version or the repository is corrupt, partial or gone,
// the last good version keeps serving. If a version's files are replaced in place, which is discouraged, it is loaded
// again with a warning. Models without references are freed during a poll, not on the thread that dropped the last
// reference.
class Registry {
 public:
  using Loader = std::function<absl::StatusOr<ModelHandle>(const VersionId&)>;
  // Returns the minimum bytes that a version on disk will take, from its manifest.
  using Sizer = std::function<absl::StatusOr<int64_t>(const VersionId&)>;
  using Listener = VersionTable::Listener;

  // Collaborators of the registry; they must outlive it.
  struct Parts {
    Loader load;
    Sizer bytes_of = nullptr;             // null: the memory limit is checked only after loading
    ServingSettings* settings = nullptr;  // null: the registry creates them from the options, which must be valid
    ModelLimitsTable* limits = nullptr;   // receives the limits of the settings; may be null
    // Called after every attempt to load, with its result and duration. May be null.
    std::function<void(const VersionId& id, const absl::Status& outcome, absl::Duration spent)> attempted = nullptr;
  };

  Registry(RegistryOptions options, Parts parts, const Clock& clock);
  Registry(RegistryOptions options, Loader loader, const Clock& clock)
      : Registry(std::move(options), Parts{.load = std::move(loader)}, clock) {}
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Follows the repository on a separate thread with low priority, until Stop. Polls every poll_interval, and at once
  // when the system reports a change.
  void Start();
  // Stops polling permanently. Waits for the running loads; no other load begins. Idempotent.
  void Stop();
  // Logs a warning with the versions that are being loaded, if any. For a process that ends without waiting for Stop.
  void LogLoading() const;
  // Returns true once Stop was called; the thread may still be in its last load.
  bool stopping() const { return stop_.load(std::memory_order_acquire); }
  // Waits until the first poll that could read the repository has ended. Returns false on timeout.
  bool WaitForFirstPoll(absl::Duration timeout);

  // Polls the repository and the settings once: loads, swaps and retires versions. Returns after the loads have ended.
  void Poll();
  // Polls on the registry's thread, or on the calling thread if Start was not called. Returns when a poll that began
  // after the call has ended. Versions in `retry` are tried at once even if they failed before. UNAVAILABLE: the
  // registry stops. DEADLINE_EXCEEDED: the poll has not ended within `patience`, for example because another model is
  // loading; the poll still runs later.
  absl::Status Reconcile(const std::vector<VersionId>& retry = {}, absl::Duration patience = absl::InfiniteDuration());
  // Divides a model's requests among its versions in memory by the current settings, without a poll.
  void Divide(const std::string& model);

  // The following functions call VersionTable, which describes them.
  absl::StatusOr<ModelHandle> Find(std::string_view model, std::optional<int64_t> version = std::nullopt) const {
    return table_.Find(model, version);
  }
  absl::StatusOr<ModelHandle> Route(std::string_view model, const VersionSelector& requested) const {
    return table_.Route(model, requested);
  }
  absl::StatusOr<VersionStatus> Get(std::string_view model, std::optional<int64_t> version = std::nullopt,
                                    const ModelPatterns* visible = nullptr) const {
    return table_.Get(model, version, visible);
  }
  std::vector<VersionStatus> List(std::string_view model = "") const { return table_.List(model); }
  std::vector<VersionStatus> ListForCallers() const { return table_.ListForCallers(); }
  TrafficTable Traffic(std::string_view model) const { return table_.Traffic(model); }
  std::set<int64_t> ActiveCanaries(std::string_view model) const { return table_.ActiveCanaries(model); }
  void Suspend(const VersionId& id, bool suspended) { table_.Suspend(id, suspended); }
  // Returns the version that a poll would load next if `plan` were the plan of the model; nullopt if it would load no
  // version.
  std::optional<int64_t> NextLoad(const std::string& model, const ModelPlan& plan) const;
  uint64_t Subscribe(Listener listener) { return table_.Subscribe(std::move(listener)); }
  void Unsubscribe(uint64_t id) { table_.Unsubscribe(id); }

  // Returns OK if the last poll could read the whole repository, or before the first poll; otherwise the error (see
  // Listing).
  absl::Status repository_status() const;
  // Returns why the repository contained no version at the last poll (see ExplainNoVersions); "" if it contained
  // versions.
  std::string WhyEmpty() const;
  // Returns a handle of every READY version.
  std::vector<ModelHandle> ReadyModels() const;
  // Returns the versions in the repository at the last poll, sorted.
  std::vector<VersionId> OnDisk() const;
  bool IsOnDisk(const VersionId& id) const;
  // Returns the number of cores that one load may use now. Until the first poll has ended, the running loads share
  // loads_at_once cores. After the first poll, a load may use one core, so that serving threads keep their cores.
  int CoresPerLoad() const;
  const RegistryOptions& options() const { return options_; }

 private:
  // A model and its versions on disk; `present` is null if the versions are unknown.
  struct ModelLook {
    std::string model;
    const std::set<int64_t>* present;
  };

  // Steps of Poll. For one model they run on one thread at a time.
  void PollModel(const std::string& model, const std::set<int64_t>* present);
  bool NeedsLoad(const std::string& model, const std::set<int64_t>* present) const;
  void PollSideBySide(const std::vector<ModelLook>& looks);
  ModelPlan TakePlan(const std::string& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(plan_mutex_);
  void ForgetFailed(const std::string& model, const std::set<int64_t>& present);
  std::vector<VersionFacts> Facts(const std::string& model, const std::set<int64_t>* present,
                                  const std::set<int64_t>& tried) const;
  void Bring(const VersionId& id, const ModelPlan& plan);
  bool IsReplaced(const KnownVersion& known, const std::set<int64_t>& present) const;
  void ReloadReplaced(const std::string& model, const std::set<int64_t>& present);
  void Replace(const KnownVersion& known);
  // Load a version. On success, the version's memory stays claimed until the version is in the table.
  absl::StatusOr<ModelHandle> Load(const VersionId& id, const ModelPlan& plan);
  absl::StatusOr<ModelHandle> LoadWithinLimits(const VersionId& id, const ModelPlan& plan);
  static void TellReady(const LoadedModel& loaded, absl::Duration spent);
  // Returns the delay of the next retry. `failures`: number of failures before the latest failure.
  absl::Duration DelayAfter(int failures) const;
  // Records a failed attempt. The stamps must be taken before the attempt, so that a change of the files during the
  // attempt is noticed.
  void TellFailure(const VersionId& id, const absl::Status& fault, const std::string& manifest_stamp,
                   const std::string& folder_stamp);
  void Retire(const VersionId& id, const ModelPlan& plan);
  void ReapRetired();
  void TellUnreadable(const std::map<std::string, absl::Status>& models);
  void TellRepositoryStatus(const absl::StatusOr<Listing>& listed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);
  // Return a stamp: a text that changes with the files that a version is loaded from and with the requested precision.
  std::string ManifestStamp(const VersionId& id) const;
  std::string FilesStamp(const VersionId& id) const;
  std::string FolderStamp(const VersionId& id) const;  // returns the stamps of all files in the folder
  // Makes a failed version due for a retry if its folder has changed since the failure but not since the last poll. So
  // a version whose copy has become complete is loaded before `retry_at`.
  void RetryChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);
  // Logs the symbolic links in the repository, but not the links that the last poll also found.
  void PrintLinks(const std::vector<std::string>& links) ABSL_EXCLUSIVE_LOCKS_REQUIRED(poll_mutex_);

  void Follow();

  const RegistryOptions options_;
  const Clock& clock_;
  const std::unique_ptr<ServingSettings> own_settings_;  // set if Parts has no settings
  const Parts parts_;
  ServingSettings& settings_;
  RepositoryWatch watch_;  // used only by the thread of Follow, except for Wake
  VersionTable table_;
  MemoryClaims claims_{[this] { return table_.List(); }};
  Reclaimer reclaimer_{[this] { watch_.Wake(); }};  // declared after watch_, because it calls watch_.Wake
  std::atomic<bool> stop_ = false;

  Mutex poll_mutex_;  // locked during a poll
  // stamp of the root folder, if it contains no version
  std::string empty_stamp_ ABSL_GUARDED_BY(poll_mutex_);
  std::map<VersionId, std::string> looked_at_ ABSL_GUARDED_BY(poll_mutex_);  // folder stamps of failed versions
  std::set<std::string> links_told_ ABSL_GUARDED_BY(poll_mutex_);
  std::set<VersionId> absent_told_ ABSL_GUARDED_BY(poll_mutex_);
  // Locked while a plan is read from the settings and put into the table, and unwanted versions are retired. So an
  // older plan never replaces a newer plan.
  Mutex plan_mutex_;

  mutable Mutex mutex_;
  CondVar looked_;
  absl::Status repository_status_ ABSL_GUARDED_BY(mutex_);
  std::string why_empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<VersionId> on_disk_ ABSL_GUARDED_BY(mutex_);
  bool first_poll_done_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;  // number of polls requested by Reconcile
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;   // number of these polls that have ended
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // runs Follow
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_REGISTRY_H_
