// SPDX-License-Identifier: Apache-2.0
// Rollbacks by operators and by the canary guard. A rollback sends the requests of a bad version to another version.
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "server/admin/admin_service.h"
#include "server/observe/log.h"
#include "server/observe/model_metrics.h"
#include "server/registry/settings/serving_rules.h"
#include "server/registry/version_difference.h"

namespace vitrine {
namespace {

constexpr size_t kLongestReason = 200;

}  // namespace

std::vector<int64_t> AdminService::Before(const VersionId& id) const {
  const ModelPlan plan = settings_.Plan(id.model);
  std::set<int64_t, std::greater<>> versions;
  for (const VersionStatus& version : registry_.List(id.model)) {
    if (version.state == v1::READY) versions.insert(version.id.version);
  }
  for (const VersionId& stored : registry_.OnDisk()) {
    if (stored.model == id.model) versions.insert(stored.version);
  }
  std::vector<int64_t> before;
  for (const int64_t version : versions) {
    const bool fits = version < id.version && !IsPutAway(plan.changed, version) && !IsCanary(plan.serving, version);
    if (fits && before.size() < kMostTried) before.push_back(version);
  }
  return before;
}

// Returns the version to remove: the version that the request names, otherwise the only canary, otherwise (if there is
// no canary) `stable`. If there are several canaries, the request must name one of them.
absl::StatusOr<int64_t> AdminService::VersionToPutAway(const v1::RollbackModelRequest& request) const {
  if (request.has_version()) return request.version();
  const std::set<int64_t> tried_out = registry_.ActiveCanaries(request.model());
  if (tried_out.empty()) return registry_.Traffic(request.model()).stable;
  if (tried_out.size() == 1) return *tried_out.begin();
  return absl::FailedPreconditionError(absl::StrCat("versions ", absl::StrJoin(tried_out, ", "), " of model \"",
                                                    request.model(), "\" are canaries; name the one to put away"));
}

absl::StatusOr<v1::ServingChange> AdminService::RollbackModel(const v1::RollbackModelRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  if (request.reason().size() > kLongestReason || !IsValidUtf8(request.reason())) {
    return absl::InvalidArgumentError(absl::StrCat("reason must be UTF-8 of at most ", kLongestReason, " bytes"));
  }
  const int64_t stable = registry_.Traffic(model).stable;
  ASSIGN_OR_RETURN(const int64_t unwanted, VersionToPutAway(request));
  const VersionId bad{model, unwanted};
  if (request.has_version()) RETURN_IF_ERROR(CheckNumber(bad.version));
  RETURN_IF_ERROR(CheckSomeReady(model));
  RETURN_IF_ERROR(CheckReady(bad));
  // All versions of the model share these metrics. Only the metrics are kept, because a ModelHandle would keep its
  // version in memory.
  std::shared_ptr<ModelMetrics> metrics;
  for (const int64_t version : {bad.version, stable}) {
    const absl::StatusOr<ModelHandle> found = registry_.Find(model, version);
    if (metrics == nullptr && found.ok()) metrics = (*found)->metrics;
  }
  const std::string reason = request.reason().empty() ? "rolled back by an operator" : request.reason();
  const auto roll_back_to = [&](int64_t good) {
    absl::StatusOr<v1::ServingChange> change = RollBackTo(bad, reason, good, Durability::kRequired, kReadyPatience);
    if (change.ok() && metrics != nullptr) metrics->CountRollback(RollbackCause::kOperator);
    return change;
  };
  if (bad.version != stable) return roll_back_to(stable);
  absl::Status last =
      absl::FailedPreconditionError(absl::StrCat(Text(bad), " has no version before it that could serve in its place"));
  for (const int64_t good : Before(bad)) {
    absl::StatusOr<v1::ServingChange> change = roll_back_to(good);
    if (change.ok() || absl::IsUnavailable(change.status())) return change;
    last = change.status();
  }
  return last;
}

// Loads version `good` while `bad` serves, unless `good` is READY. Removes `bad` from traffic only afterwards;
// otherwise another version, such as a canary, would get the requests of `bad` during the load. If a step fails, the
// previous state is restored.
absl::StatusOr<v1::ServingChange> AdminService::RollBackTo(const VersionId& bad, const std::string& reason,
                                                           int64_t good, Durability durability,
                                                           absl::Duration patience) {
  const ModelPlan plan = settings_.Plan(bad.model);
  const bool moves = LabelledVersion(plan.serving, kStableLabel) == bad.version;
  const VersionId replacement{bad.model, good};
  const Edit hold = [&](v1::ModelOverride& row) { AddLoaded(row, good); };
  const bool serves = registry_.Traffic(bad.model).stable == bad.version;
  std::string difference;  // difference between the classes of `bad` and `good`, compared while both are in memory
  const auto verify = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckReady(replacement));
    const absl::StatusOr<ModelHandle> before = registry_.Find(bad.model, bad.version),
                                      after = registry_.Find(bad.model, good);
    if (before.ok() && after.ok()) difference = OtherClasses(**after, **before);
    return absl::OkStatus();
  };
  std::vector<Step> steps;
  if (!verify().ok()) steps.push_back({hold, verify, {replacement}});
  // True: `good` stays in the list of versions loaded by name. False: after the rollback the policy decides whether
  // `good` stays loaded.
  const bool keep = plan.serving.version_policy().has_specific() || IsLoadedByHand(plan.changed, good);
  const Step move = {[&](v1::ModelOverride& row) {
                       hold(row);
                       ExcludeVersion(row, bad.version, reason);
                       if (moves) SetLabelIn(row, kStableLabel, good);
                       if (!keep) RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == good; });
                     },
                     [&]() -> absl::Status {
                       // A version other than `good` may serve, because a newer version may have been published during
                       // the rollback.
                       RETURN_IF_ERROR(CheckSomeReady(bad.model));
                       if (registry_.Traffic(bad.model).stable != bad.version) return absl::OkStatus();
                       return absl::FailedPreconditionError(absl::StrCat(Text(bad), " is still needed"));
                     },
                     {},
                     patience};
  steps.push_back(move);
  ASSIGN_OR_RETURN(v1::ServingChange change, Make(bad.model, steps, durability));
  Log(LogLevel::kWarning, "version put away",
      {{"model", bad.model},
       {"version", bad.version},
       {"reason", reason},
       {"serving_version", int64_t{change.serving().stable_version()}}});
  if (moves) change.add_notes(absl::StrCat("the label stable moved from version ", bad.version, " to ", good));
  if (serves && !difference.empty() && change.serving().stable_version() == good) {
    change.add_notes(absl::StrCat("version ", good, " serves with other classes: ", difference,
                                  " compared with version ", bad.version));
  }
  return change;
}

absl::Status AdminService::RollBackCanary(const VersionId& id, const std::string& reason) {
  registry_.Suspend(id, true);
  // Does not wait for the lock, because a change that loads a model holds the lock for minutes.
  if (!mutex_.TryLock()) {
    return absl::UnavailableError("a change by an operator is in progress; until it ends, the canary gets no requests");
  }
  const MutexLock lock(mutex_, std::adopt_lock);
  // After the guard's decision, an operator may have made the canary the `stable` version.
  absl::Status done = absl::AbortedError(absl::StrCat(Text(id), " is not a canary"));
  if (registry_.ActiveCanaries(id.model).contains(id.version)) {
    done = RollBackTo(id, reason, registry_.Traffic(id.model).stable, Durability::kBestEffort, absl::ZeroDuration())
               .status();
  }
  registry_.Suspend(id, false);
  return done;
}

}  // namespace vitrine
