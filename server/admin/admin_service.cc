// SPDX-License-Identifier: Apache-2.0
#include "server/admin/admin_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/repository.h"
#include "server/admin/describe_serving.h"
#include "server/identity/caller.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/serving_rules.h"
#include "server/registry/version_difference.h"

namespace vitrine {
namespace {

// An operator may be restricted to one model, so errors name no other model.
const ModelPatterns kNoOthers({});

// Returns the command that loads a version, followed by the name of the RPC that the command calls.
std::string LoadOf(const VersionId& id) {
  return absl::StrCat("vitrine admin load ", id.model, "@", id.version, " (LoadModel)");
}

}  // namespace

std::string AdminService::Text(const VersionId& id) {
  return absl::StrCat("model \"", id.model, "\" version ", id.version);
}

absl::Status AdminService::CheckNumber(int64_t version) {
  if (version >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("version is ", version, "; it must be 1 or more"));
}

absl::StatusOr<v1::ServingChange> AdminService::Make(const std::string& model, const std::vector<Step>& steps,
                                                     Durability durability) {
  const v1::ModelOverride before = settings_.Plan(model).changed;
  absl::Status done;
  for (const Step& step : steps) {
    if (done.ok()) done = Take(model, step, durability);
  }
  if (done.ok()) done = settings_.Keep();
  if (!done.ok()) {
    settings_.Restore(model, before);
    registry_.Divide(model);
    // Unloads, now or at the next poll, the versions that were loaded for this change.
    registry_.Reconcile({}, std::min(steps.back().patience, kReadyPatience)).IgnoreError();
    return done;
  }
  v1::ServingChange change;
  *change.mutable_serving() = DescribeServing(model, registry_, settings_, canaries_);
  return change;
}

absl::Status AdminService::Take(const std::string& model, const Step& step, Durability durability) {
  RETURN_IF_ERROR(settings_.Change(model, step.edit, durability));
  registry_.Divide(model);
  const absl::Status looked = registry_.Reconcile(step.retry, step.patience);
  if (!absl::IsDeadlineExceeded(looked)) RETURN_IF_ERROR(looked);
  absl::Status verified = step.verify();
  if (verified.ok() || looked.ok()) return verified;
  return absl::UnavailableError(
      absl::StrCat(std::string(looked.message()), "; the change was not made: ", std::string(verified.message())));
}

absl::Duration AdminService::PatienceFor(const std::vector<VersionId>& named) const {
  const bool ready = std::all_of(named.begin(), named.end(),
                                 [&](const VersionId& id) { return registry_.Find(id.model, id.version).ok(); });
  return ready && !named.empty() ? kReadyPatience : kLoadPatience;
}

absl::Status AdminService::CheckKnown(const std::string& model) const {
  RETURN_IF_ERROR(ValidateModelName(model));
  // A model without a folder may still have changes, which can be read and reset.
  if (!IsEmpty(settings_.Plan(model).changed) || !registry_.List(model).empty()) return absl::OkStatus();
  for (const VersionId& id : registry_.OnDisk()) {
    if (id.model == model) return absl::OkStatus();
  }
  return registry_.Get(model, std::nullopt, &kNoOthers).status();
}

absl::Status AdminService::CheckReady(const VersionId& id) const {
  if (IsPutAway(settings_.Plan(id.model).changed, id.version)) {
    return absl::FailedPreconditionError(absl::StrCat(Text(id), " was put away; load it first: ", LoadOf(id)));
  }
  ASSIGN_OR_RETURN(const VersionStatus status, registry_.Get(id.model, id.version, &kNoOthers));
  if (status.state == v1::READY) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Text(id), " is ", v1::ModelState_Name(status.state), status.reason.empty() ? "" : ": ",
                   status.reason, status.state == v1::FAILED ? "" : absl::StrCat("; load it first: ", LoadOf(id))));
}

absl::Status AdminService::CheckClasses(const VersionId& id, std::optional<int64_t> other) const {
  const v1::CanaryGuard guard = settings_.Plan(id.model).serving.canary_guard();
  const absl::StatusOr<ModelHandle> stable = registry_.Find(id.model, other),
                                    version = registry_.Find(id.model, id.version);
  if (guard.off() || guard.allow_other_labels() || !stable.ok() || !version.ok()) return absl::OkStatus();
  const std::string difference = OtherClasses(**version, **stable);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Text(id), " cannot be a canary: ", difference, " compared with version ", (*stable)->id.version,
      ", which serves, so callers would read one class under two names; publish it as another model, give all requests "
      "to it with the label stable, or set canary_guard { allow_other_labels: true }"));
}

absl::Status AdminService::CheckSomeReady(const std::string& model) const {
  if (registry_.Traffic(model).stable != 0) return absl::OkStatus();
  std::string why;
  for (const VersionStatus& version : registry_.List(model)) {
    if (version.state == v1::FAILED) why = absl::StrCat("; version ", version.id.version, ": ", version.reason);
  }
  return absl::FailedPreconditionError(absl::StrCat("no version of model \"", model, "\" becomes ready", why));
}

absl::StatusOr<v1::ServingChange> AdminService::LoadModel(const v1::LoadModelRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(ValidateModelName(model));
  if (request.has_version()) {
    RETURN_IF_ERROR(CheckNumber(request.version()));
    const VersionId id{model, request.version()};
    return Make(
        model,
        [&](v1::ModelOverride& row) {
          row.set_unloaded(false);
          ReadmitVersion(row, id.version);
          AddLoaded(row, id.version);
        },
        [&] { return CheckReady(id); }, {id});
  }
  std::vector<VersionId> failed;
  for (const VersionStatus& version : registry_.List(model)) failed.push_back(version.id);
  return Make(
      model, [](v1::ModelOverride& row) { row.set_unloaded(false); },
      [&]() -> absl::Status {
        RETURN_IF_ERROR(CheckKnown(model));
        return CheckSomeReady(model);
      },
      failed);
}

absl::StatusOr<v1::ServingChange> AdminService::UnloadModel(const v1::UnloadModelRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  if (!request.has_version()) {
    return Make(
        model, [](v1::ModelOverride& row) { row.set_unloaded(true); }, [] { return absl::OkStatus(); });
  }
  const VersionId id{model, request.version()};
  RETURN_IF_ERROR(CheckNumber(id.version));
  RETURN_IF_ERROR(registry_.Get(model, id.version, &kNoOthers).status());
  const v1::ModelOverride before = settings_.Plan(model).changed;
  const Edit put_away = [&](v1::ModelOverride& row) {
    row = before;
    ExcludeVersion(row, id.version, "unloaded by an operator");
  };
  // Loads the replacement before the version is removed, as a rollback does, so that no other version serves in
  // between.
  const Step bring = {
      [](v1::ModelOverride&) {}, [&] { return LoadReplacements(model, put_away); }, {}, absl::ZeroDuration()};
  const Step leave = {put_away,
                      [&] {
                        if (registry_.Traffic(model).stable != id.version) return absl::OkStatus();
                        return absl::FailedPreconditionError(
                            absl::StrCat(Text(id),
                                         " is the only one that can serve; load another one first, or unload the whole "
                                         "model"));
                      },
                      {},
                      kReadyPatience};
  return Make(model, {bring, leave}, Durability::kRequired);
}

absl::Status AdminService::LoadReplacements(const std::string& model, const Edit& edit) {
  for (size_t tried = 0; tried < kMostTried; ++tried) {
    const std::optional<int64_t> next = registry_.NextLoad(model, settings_.Plan(model, edit));
    if (!next.has_value()) break;
    RETURN_IF_ERROR(settings_.Change(model, [&](v1::ModelOverride& row) { AddLoaded(row, *next); }));
    RETURN_IF_ERROR(registry_.Reconcile({}, kLoadPatience));
  }
  return absl::OkStatus();
}

AdminService::Step AdminService::Bring(int64_t serving, const std::vector<VersionId>& versions, const Verify& verify) {
  const Edit edit = [serving, versions](v1::ModelOverride& row) {
    if (serving != 0) SetLabelIn(row, kStableLabel, serving);
    for (const VersionId& id : versions) AddLoaded(row, id.version);
  };
  return {edit, verify, versions};
}

absl::StatusOr<v1::ServingChange> AdminService::SetVersionPolicy(const v1::SetVersionPolicyRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  RETURN_IF_ERROR(ValidatePolicy(request.policy()));
  std::vector<VersionId> named;
  for (const int64_t version : request.policy().specific().versions()) named.push_back({model, version});
  const ModelPlan plan = settings_.Plan(model);
  const Verify verify = [&]() -> absl::Status {
    if (plan.changed.unloaded()) return absl::OkStatus();
    for (const VersionId& id : named) RETURN_IF_ERROR(CheckReady(id));
    return absl::OkStatus();
  };
  const int64_t serving = registry_.Traffic(model).stable;
  const Step set = {[&](v1::ModelOverride& row) {
                      row = plan.changed;
                      *row.mutable_version_policy() = request.policy();
                    },
                    verify, named, PatienceFor(named)};
  return Make(model, verify().ok() ? std::vector<Step>{set} : std::vector<Step>{Bring(serving, named, verify), set},
              Durability::kRequired);
}

// Returns the version to pin as `stable`: the newest READY version that is not in `named` and not newer than the
// serving version. Newer READY versions are left out, because they may get only requests that name their number: see
// VersionTable::Waiting.
absl::StatusOr<int64_t> AdminService::VersionToPin(const std::string& model,
                                                   const std::vector<VersionId>& named) const {
  const int64_t serving = registry_.Traffic(model).stable;
  int64_t beside = 0;
  for (const VersionStatus& version : registry_.List(model)) {
    if (version.id.version > serving || version.state != v1::READY) continue;
    if (!std::count(named.begin(), named.end(), version.id)) beside = version.id.version;
  }
  if (beside != 0) return beside;
  return absl::FailedPreconditionError(absl::StrCat("no other version of model \"", model,
                                                    "\" is ready to take what the shares leave over; load one first"));
}

// Loads missing versions first, while the traffic stays unchanged, so that no version gets a share before its classes
// were compared.
absl::StatusOr<v1::ServingChange> AdminService::SetTraffic(const v1::SetTrafficRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  std::vector<VersionId> named;
  for (const v1::TrafficShare& share : request.shares()) {
    RETURN_IF_ERROR(CheckNumber(share.version()));
    named.push_back({model, share.version()});
  }
  const ModelPlan plan = settings_.Plan(model);
  v1::ModelServing divided = plan.serving;
  *divided.mutable_traffic() = request.shares();
  RETURN_IF_ERROR(CheckStableShare(divided));
  const int64_t serving = registry_.Traffic(model).stable;
  int64_t pinned = 0;
  if (!named.empty() && LabelledVersion(plan.serving, kStableLabel) == 0) {
    ASSIGN_OR_RETURN(pinned, VersionToPin(model, named));
  }
  const std::optional<int64_t> stable = pinned != 0 ? std::make_optional(pinned) : std::nullopt;
  for (const VersionId& id : named) RETURN_IF_ERROR(CheckClasses(id, stable));
  const Verify verify = [&]() -> absl::Status {
    for (const VersionId& id : named) {
      RETURN_IF_ERROR(CheckReady(id));
      RETURN_IF_ERROR(CheckClasses(id, stable));
    }
    return absl::OkStatus();
  };
  const Step divide = {[&](v1::ModelOverride& row) {
                         row = plan.changed;
                         *row.mutable_traffic()->mutable_shares() = request.shares();
                         if (pinned != 0) SetLabelIn(row, kStableLabel, pinned);
                       },
                       verify,
                       {},
                       PatienceFor(named)};
  std::vector<Step> steps = {divide};
  if (!verify().ok()) {
    RETURN_IF_ERROR(ValidateServing(settings_.Plan(model, divide.edit).serving));
    steps.insert(steps.begin(), Bring(serving, named, verify));
  }
  ASSIGN_OR_RETURN(v1::ServingChange change, Make(model, steps, Durability::kRequired));
  if (pinned != 0) change.add_notes(PinNote(pinned));
  for (const VersionId& id : named) {
    if (id.version != change.serving().stable_version()) change.add_notes(GuardNote(id.version, change));
  }
  return change;
}

absl::StatusOr<v1::ServingChange> AdminService::SetLabel(const v1::SetLabelRequest& request) {
  MutexLock lock(mutex_);
  const VersionId id{request.model(), request.version()};
  RETURN_IF_ERROR(CheckKnown(id.model));
  RETURN_IF_ERROR(ValidateLabel(request.label()));
  RETURN_IF_ERROR(CheckNumber(id.version));
  const Verify verify = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckReady(id));
    return request.label() == kCanaryLabel ? CheckClasses(id) : absl::OkStatus();
  };
  const ModelPlan plan = settings_.Plan(id.model);
  // A version with label `stable` answers all requests that no share covers, so its own share is removed.
  const bool promoted = request.label() == kStableLabel && PercentOf(plan.serving, id.version) > 0;
  // A label keeps its version in memory. A missing version is loaded first, while the traffic is unchanged.
  const bool loads = !CheckReady(id).ok() && !IsPutAway(plan.changed, id.version);
  if (!loads) RETURN_IF_ERROR(verify());
  const int64_t serving = registry_.Traffic(id.model).stable;
  const bool is_pinned = LabelledVersion(plan.serving, kStableLabel) != 0;
  if (request.label() == kCanaryLabel && id.version == serving && !is_pinned) {
    return absl::FailedPreconditionError(absl::StrCat(
        Text(id), " serves the requests, so it cannot be a canary; give another version the label stable first"));
  }
  const bool pins = serving != 0 && id.version > serving && request.label() != kStableLabel && !is_pinned;
  const Step label = {[&](v1::ModelOverride& row) {
                        row = plan.changed;
                        SetLabelIn(row, request.label(), id.version);
                        if (pins) SetLabelIn(row, kStableLabel, serving);
                        if (!promoted) return;
                        *row.mutable_traffic()->mutable_shares() = plan.serving.traffic();
                        RemoveIf(*row.mutable_traffic()->mutable_shares(),
                                 [&](const v1::TrafficShare& share) { return share.version() == id.version; });
                      },
                      verify,
                      {id},
                      PatienceFor({id})};
  std::vector<Step> steps = {label};
  if (loads) {
    RETURN_IF_ERROR(ValidateServing(settings_.Plan(id.model, label.edit).serving));
    steps.insert(steps.begin(), Bring(serving, {id}, verify));
  }
  ASSIGN_OR_RETURN(v1::ServingChange change, Make(id.model, steps, Durability::kRequired));
  if (pins) change.add_notes(PinNote(serving));
  if (promoted) change.add_notes(absl::StrCat("version ", id.version, " no longer has a traffic share of its own"));
  if (request.label() == kCanaryLabel) change.add_notes(GuardNote(id.version, change));
  return change;
}

absl::StatusOr<v1::ServingChange> AdminService::ClearLabel(const v1::ClearLabelRequest& request) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(request.model()));
  RETURN_IF_ERROR(ValidateLabel(request.label()));
  const ModelPlan plan = settings_.Plan(request.model());
  if (LabelledVersion(plan.serving, request.label()) == 0) {
    return absl::NotFoundError(
        absl::StrCat("no version of model \"", request.model(), "\" was given the label ", Quoted(request.label())));
  }
  return Make(
      request.model(),
      [&](v1::ModelOverride& row) {
        RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.label() == request.label(); });
        if (LabelledVersion(plan.file, request.label()) != 0) SetLabelIn(row, request.label(), 0);
      },
      [] { return absl::OkStatus(); });
}

absl::StatusOr<v1::ServingChange> AdminService::ResetServing(const v1::ResetServingRequest& request) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(request.model()));
  return Make(
      request.model(), [](v1::ModelOverride& row) { row = v1::ModelOverride(); }, [] { return absl::OkStatus(); });
}

absl::StatusOr<v1::ServingStatus> AdminService::GetServing(const v1::GetServingRequest& request) const {
  v1::ServingStatus status = DescribeServer(registry_, settings_);
  std::set<std::string> models;
  if (!request.model().empty()) {
    RETURN_IF_ERROR(CheckKnown(request.model()));
    models.insert(request.model());
  } else {
    for (const VersionStatus& version : registry_.List()) models.insert(version.id.model);
    for (const std::string& model : settings_.Models()) models.insert(model);
  }
  for (const std::string& model : models) {
    *status.add_models() = DescribeServing(model, registry_, settings_, canaries_);
  }
  return status;
}

}  // namespace vitrine
