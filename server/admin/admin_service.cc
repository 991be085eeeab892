#include "server/admin/admin_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "repository/repository.h"
#include "repository/text.h"
#include "server/admin/serving_status.h"
#include "server/registry/serving_rules.h"

namespace vitrine {
namespace {

// Most versions that a rollback tries, one after the other.
constexpr size_t kMostTried = 10;
constexpr size_t kLongestReason = 200;

std::string Text(const VersionId& id) {
  return absl::StrCat("model \"", id.model, "\" version ", id.version);
}

absl::Status CheckNumber(int64_t version) {
  if (version >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("version is ", version, "; it must be 1 or more"));
}

template <typename Rows, typename Fits>
void RemoveIf(Rows& rows, const Fits& fits) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), fits), rows.end());
}

void Restore(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_put_away(), [&](const v1::PutAway& away) { return away.version() == version; });
}

void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version) {
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.label() == label; });
  v1::VersionLabel& added = *row.add_labels();
  added.set_label(label);
  added.set_version(version);
}

// The version loses its label and its share; what the file gives it is passed over as long as it is put away.
void PutAwayIn(v1::ModelOverride& row, int64_t version, const std::string& reason) {
  Restore(row, version);
  v1::PutAway& away = *row.add_put_away();
  away.set_version(version);
  away.set_reason(reason);
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.version() == version; });
  if (row.has_traffic()) {
    RemoveIf(*row.mutable_traffic()->mutable_shares(),
             [&](const v1::TrafficShare& share) { return share.version() == version; });
  }
}

void AddLoaded(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  row.add_loaded(version);
}

bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version) {
  return std::find(row.loaded().begin(), row.loaded().end(), version) != row.loaded().end();
}

}  // namespace

absl::StatusOr<v1::ServingChange> AdminService::Make(const std::string& model, const Edit& edit, const Verify& verify,
                                                     const std::vector<VersionId>& retry) {
  const v1::ModelOverride before = settings_.Plan(model).changed;
  RETURN_IF_ERROR(settings_.Change(model, edit));
  absl::Status done = registry_.Reconcile(retry);
  if (done.ok()) done = verify();
  if (!done.ok()) {
    Undo(model, before);
    return done;
  }
  v1::ServingChange change;
  *change.mutable_serving() = DescribeServing(model, registry_, settings_, canaries_);
  return change;
}

void AdminService::Undo(const std::string& model, const v1::ModelOverride& before) {
  const absl::Status undone = settings_.Change(model, [&](v1::ModelOverride& row) { row = before; });
  if (!undone.ok()) spdlog::error("admin: a change of model {} cannot be undone: {}", model, undone.ToString());
  // Only ends early where the server does.
  registry_.Reconcile().IgnoreError();
}

absl::Status AdminService::CheckKnown(const std::string& model) const {
  RETURN_IF_ERROR(ValidateModelName(model));
  if (settings_.Plan(model).changed.unloaded() || !registry_.List(model).empty()) return absl::OkStatus();
  for (const VersionId& id : registry_.OnDisk()) {
    if (id.model == model) return absl::OkStatus();
  }
  return registry_.Get(model).status();
}

absl::Status AdminService::CheckReady(const VersionId& id) const {
  if (IsPutAway(settings_.Plan(id.model).changed, id.version)) {
    return absl::FailedPreconditionError(absl::StrCat(Text(id), " was put away; bring it back with LoadModel first"));
  }
  ASSIGN_OR_RETURN(const VersionStatus status, registry_.Get(id.model, id.version));
  if (status.state == v1::READY) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Text(id), " is ", v1::ModelState_Name(status.state), status.reason.empty() ? "" : ": ",
                   status.reason, status.state == v1::FAILED ? "" : "; bring it into memory with LoadModel first"));
}

absl::Status AdminService::CheckSomeReady(const std::string& model) const {
  if (registry_.Traffic(model).stable != 0) return absl::OkStatus();
  std::string why;
  for (const VersionStatus& version : registry_.List(model)) {
    if (version.state == v1::FAILED) why = absl::StrCat("; version ", version.id.version, ": ", version.reason);
  }
  return absl::FailedPreconditionError(absl::StrCat("no version of model \"", model, "\" gets ready", why));
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
          Restore(row, id.version);
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
  RETURN_IF_ERROR(registry_.Get(model, id.version).status());
  return Make(
      model, [&](v1::ModelOverride& row) { PutAwayIn(row, id.version, "unloaded by an operator"); },
      [&] {
        const absl::StatusOr<VersionStatus> status = registry_.Get(model, id.version);
        if (!status.ok() || status->state != v1::READY) return absl::OkStatus();
        return absl::FailedPreconditionError(absl::StrCat(
            Text(id), " is the only one that can serve; load another one first, or unload the whole model"));
      });
}

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
    const bool fits = version < id.version && !IsPutAway(plan.changed, version) && !IsTriedOut(plan.serving, version);
    if (fits && before.size() < kMostTried) before.push_back(version);
  }
  return before;
}

absl::StatusOr<v1::ServingChange> AdminService::RollbackModel(const v1::RollbackModelRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  if (request.reason().size() > kLongestReason || !IsValidUtf8(request.reason())) {
    return absl::InvalidArgumentError(absl::StrCat("reason must be UTF-8 of at most ", kLongestReason, " bytes"));
  }
  const int64_t stable = registry_.Traffic(model).stable;
  const VersionId bad{model, request.has_version() ? request.version() : stable};
  if (request.has_version()) RETURN_IF_ERROR(CheckNumber(bad.version));
  RETURN_IF_ERROR(CheckSomeReady(model));
  RETURN_IF_ERROR(CheckReady(bad));
  const std::string reason = request.reason().empty() ? "rolled back by an operator" : request.reason();
  if (bad.version != stable) return RollBackTo(bad, reason, stable);
  absl::Status last =
      absl::FailedPreconditionError(absl::StrCat(Text(bad), " has no version before it that could serve in its place"));
  for (const int64_t good : Before(bad)) {
    absl::StatusOr<v1::ServingChange> change = RollBackTo(bad, reason, good);
    if (change.ok() || absl::IsUnavailable(change.status())) return change;
    last = change.status();
  }
  return last;
}

// First the replacement comes into memory while `bad` serves on; only then do requests move, all at once and to it:
// nobody else, a canary least of all, stands in meanwhile. Where either step is refused, everything is as before.
absl::StatusOr<v1::ServingChange> AdminService::RollBackTo(const VersionId& bad, const std::string& reason,
                                                           int64_t good) {
  const ModelPlan plan = settings_.Plan(bad.model);
  const bool moves = LabelledVersion(plan.serving, kStableLabel) == bad.version;
  const VersionId replacement{bad.model, good};
  RETURN_IF_ERROR(Make(
                      bad.model, [&](v1::ModelOverride& row) { AddLoaded(row, good); },
                      [&] { return CheckReady(replacement); }, {replacement})
                      .status());
  // What only the rollback has asked for is left to the policy afterwards, where that comes upon it by itself.
  const bool keep = plan.serving.version_policy().has_specific() || IsLoadedByHand(plan.changed, good);
  absl::StatusOr<v1::ServingChange> change = Make(
      bad.model,
      [&](v1::ModelOverride& row) {
        PutAwayIn(row, bad.version, reason);
        if (moves) SetLabelIn(row, kStableLabel, good);
        if (!keep) RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == good; });
      },
      [&]() -> absl::Status {
        // Not necessarily `good`: one that was published meanwhile serves as ever.
        RETURN_IF_ERROR(CheckSomeReady(bad.model));
        const absl::StatusOr<VersionStatus> away = registry_.Get(bad.model, bad.version);
        if (!away.ok() || away->state != v1::READY) return absl::OkStatus();
        return absl::FailedPreconditionError(absl::StrCat(Text(bad), " is still needed"));
      });
  if (!change.ok()) {
    Undo(bad.model, plan.changed);
    return change;
  }
  spdlog::warn("model {} version {} is put away: {}; version {} serves", bad.model, bad.version, reason,
               change->serving().stable_version());
  if (moves) change->add_notes(absl::StrCat("the label stable moved from version ", bad.version, " to ", good));
  return change;
}

absl::StatusOr<v1::ServingChange> AdminService::SetVersionPolicy(const v1::SetVersionPolicyRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  RETURN_IF_ERROR(ValidatePolicy(request.policy()));
  std::vector<VersionId> named;
  for (const int64_t version : request.policy().specific().versions()) named.push_back({model, version});
  return Make(
      model, [&](v1::ModelOverride& row) { *row.mutable_version_policy() = request.policy(); },
      [&]() -> absl::Status {
        if (settings_.Plan(model).changed.unloaded()) return absl::OkStatus();
        for (const VersionId& id : named) RETURN_IF_ERROR(CheckReady(id));
        return absl::OkStatus();
      },
      named);
}

absl::StatusOr<v1::ServingChange> AdminService::SetTraffic(const v1::SetTrafficRequest& request) {
  MutexLock lock(mutex_);
  const std::string& model = request.model();
  RETURN_IF_ERROR(CheckKnown(model));
  std::vector<VersionId> named;
  for (const v1::TrafficShare& share : request.shares()) {
    RETURN_IF_ERROR(CheckNumber(share.version()));
    named.push_back({model, share.version()});
  }
  // Who serves when nobody is named so: the newest that is not tried out.
  int64_t pinned = 0;
  if (!named.empty() && LabelledVersion(settings_.Plan(model).serving, kStableLabel) == 0) {
    for (const VersionStatus& version : registry_.List(model)) {
      if (version.state == v1::READY && !std::count(named.begin(), named.end(), version.id))
        pinned = version.id.version;
    }
    if (pinned == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no other version of model \"", model, "\" is ready to take what the shares leave over; load one first"));
    }
  }
  ASSIGN_OR_RETURN(v1::ServingChange change, Make(
                                                 model,
                                                 [&](v1::ModelOverride& row) {
                                                   *row.mutable_traffic()->mutable_shares() = request.shares();
                                                   if (pinned != 0) SetLabelIn(row, kStableLabel, pinned);
                                                 },
                                                 [&]() -> absl::Status {
                                                   for (const VersionId& id : named) RETURN_IF_ERROR(CheckReady(id));
                                                   return absl::OkStatus();
                                                 },
                                                 named));
  if (pinned != 0) {
    change.add_notes(absl::StrCat("version ", pinned,
                                  " got the label stable; newer versions do not replace it until the "
                                  "label moves or is cleared"));
  }
  return change;
}

absl::StatusOr<v1::ServingChange> AdminService::SetLabel(const v1::SetLabelRequest& request) {
  MutexLock lock(mutex_);
  const VersionId id{request.model(), request.version()};
  RETURN_IF_ERROR(CheckKnown(id.model));
  RETURN_IF_ERROR(ValidateLabel(request.label()));
  RETURN_IF_ERROR(CheckNumber(id.version));
  RETURN_IF_ERROR(CheckReady(id));
  // A version that answers everything that is left over needs no share of its own.
  const v1::ModelServing serving = settings_.Plan(id.model).serving;
  const bool promoted = request.label() == kStableLabel && PercentOf(serving, id.version) > 0;
  ASSIGN_OR_RETURN(v1::ServingChange change,
                   Make(
                       id.model,
                       [&](v1::ModelOverride& row) {
                         SetLabelIn(row, request.label(), id.version);
                         if (!promoted) return;
                         *row.mutable_traffic()->mutable_shares() = serving.traffic();
                         RemoveIf(*row.mutable_traffic()->mutable_shares(),
                                  [&](const v1::TrafficShare& share) { return share.version() == id.version; });
                       },
                       [&] { return CheckReady(id); }));
  if (promoted) change.add_notes(absl::StrCat("version ", id.version, " has no share of its own any more"));
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
