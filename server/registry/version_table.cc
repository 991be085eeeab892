// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version_table.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/repository.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/serving_rules.h"
#include "server/registry/version_difference.h"

namespace vitrine {
namespace {

std::set<int64_t> KeysOf(const std::map<int64_t, std::string>& versions) {
  std::set<int64_t> keys;
  for (const auto& [version, reason] : versions) keys.insert(version);
  return keys;
}

}  // namespace

absl::StatusOr<ModelHandle> VersionTable::Find(std::string_view model, std::optional<int64_t> version) const {
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  if (entry == nullptr) return NoSuchModel(*now, model, /*visible=*/nullptr);
  if (!version.has_value() && entry->traffic.stable == 0) return NotReady(*now, model, *entry, version);
  return Serving(*now, model, *entry, version.value_or(entry->traffic.stable));
}

absl::StatusOr<ModelHandle> VersionTable::Route(std::string_view model, const VersionSelector& requested) const {
  if (requested.version.has_value() && !requested.label.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the request names version ", *requested.version,
                                                   " and version_label ", Quoted(requested.label),
                                                   "; leave one of them out"));
  }
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  if (entry == nullptr) return NoSuchModel(*now, model, requested.visible);
  if (requested.version.has_value()) return Serving(*now, model, *entry, *requested.version);
  const TrafficTable& traffic = entry->traffic;
  if (!requested.label.empty()) {
    const auto version = traffic.labels.find(requested.label);
    if (version == traffic.labels.end()) return NoSuchLabel(*now, model, *entry, requested.label);
    return Serving(*now, model, *entry, version->second);
  }
  if (traffic.stable == 0) return NotReady(*now, model, *entry, std::nullopt);
  if (traffic.parts.empty()) return Serving(*now, model, *entry, traffic.stable);
  const uint64_t point =
      requested.request_id.empty() ? PointOfCount((*entry->drawn)++) : PointOfId(model, requested.request_id);
  return Serving(*now, model, *entry, traffic.Choose(point));
}

absl::StatusOr<ModelHandle> VersionTable::Serving(const Snapshot& now, std::string_view model, const Entry& entry,
                                                  int64_t version) {
  const auto known = entry.versions.find(version);
  if (known != entry.versions.end() && known->second.status.state == v1::READY) return known->second.status.model;
  return NotReady(now, model, entry, version);
}

absl::StatusOr<VersionStatus> VersionTable::Get(std::string_view model, std::optional<int64_t> version,
                                                const ModelPatterns* visible) const {
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  if (entry == nullptr) return NoSuchModel(*now, model, visible);
  auto known = entry->versions.find(version.value_or(entry->traffic.stable));
  if (known == entry->versions.end()) {
    if (version.has_value() || entry->versions.empty()) return NotReady(*now, model, *entry, version);
    known = std::prev(entry->versions.end());
  }
  return ExplainedStatusOf(*entry, known->second);
}

std::vector<VersionStatus> VersionTable::List(std::string_view model) const {
  const std::shared_ptr<const Snapshot> now = Now();
  std::vector<VersionStatus> list;
  for (const auto& [name, entry] : now->models) {
    if (!model.empty() && name != model) continue;
    for (const auto& [version, known] : entry->versions) list.push_back(StatusOf(*entry, known));
  }
  return list;
}

std::vector<VersionStatus> VersionTable::ListForCallers() const {
  const std::shared_ptr<const Snapshot> now = Now();
  std::vector<VersionStatus> list;
  for (const auto& [name, entry] : now->models) {
    for (const auto& [version, known] : entry->versions) list.push_back(ExplainedStatusOf(*entry, known));
  }
  return list;
}

std::vector<std::string> VersionTable::Models() const {
  const std::shared_ptr<const Snapshot> now = Now();
  std::vector<std::string> names;
  for (const auto& [name, entry] : now->models) {
    if (IsKnown(*entry)) names.push_back(name);
  }
  return names;
}

std::vector<KnownVersion> VersionTable::Known(std::string_view model) const {
  const std::shared_ptr<const Snapshot> now = Now();
  std::vector<KnownVersion> list;
  const Entry* entry = now->Find(model);
  if (entry == nullptr) return list;
  for (const auto& [version, known] : entry->versions) list.push_back(known);
  return list;
}

TrafficTable VersionTable::Traffic(std::string_view model) const {
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  return entry == nullptr ? TrafficTable() : entry->traffic;
}

// Returns true if the model has versions or was unloaded. An entry alone is not enough, because the plan of a model is
// set before its first version.
bool VersionTable::IsKnown(const Entry& entry) {
  return !entry.versions.empty() || entry.plan.changed.unloaded();
}

const VersionTable::Entry* VersionTable::Snapshot::Find(std::string_view model) const {
  const auto entry = models.find(model);
  return entry == models.end() || !IsKnown(*entry->second) ? nullptr : entry->second.get();
}

std::shared_ptr<const VersionTable::Snapshot> VersionTable::Now() const {
  MutexLock lock(mutex_);
  return now_;
}

void VersionTable::Publish(std::shared_ptr<const Snapshot> next) {
  MutexLock lock(mutex_);
  now_.swap(next);  // `next` now has the old snapshot, which is destroyed after the lock is released
}

void VersionTable::Edit(const std::string& model, const std::function<bool(Entry&)>& edit) {
  MutexLock lock(edit_mutex_);
  const std::shared_ptr<const Snapshot> now = Now();
  const auto found = now->models.find(model);
  auto edited = found == now->models.end() ? std::make_shared<Entry>() : std::make_shared<Entry>(*found->second);
  if (!edit(*edited)) return;
  Divide(*edited);
  auto next = std::make_shared<Snapshot>(*now);
  std::shared_ptr<const Entry>& entry = next->models[model];
  if (entry != nullptr && !entry->versions.empty() && !IsKnown(*edited)) {
    next->models.erase(model);
  } else {
    entry = std::move(edited);
  }
  Publish(std::move(next));
}

VersionStatus VersionTable::Pinned(const KnownVersion& known) {
  VersionStatus status = known.status;
  if (status.state == v1::RETIRING) status.model = known.retiring.lock();
  return status;
}

VersionStatus VersionTable::StatusOf(const Entry& entry, const KnownVersion& known) {
  VersionStatus status = Pinned(known);
  if (status.state != v1::READY) return status;
  for (const auto& [label, version] : entry.traffic.labels) {
    if (version == status.id.version) status.labels.push_back(label);
  }
  status.traffic_percent = entry.traffic.PercentOf(status.id.version);
  const auto waits = entry.waiting.find(status.id.version);
  if (status.reason.empty() && waits != entry.waiting.end()) status.reason = waits->second;
  return status;
}

std::set<int64_t> VersionTable::ActiveCanaries(std::string_view model) const {
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  if (entry == nullptr) return {};
  return Canaries(Divided(*entry, Ready(*entry)));
}

std::map<int64_t, std::string> VersionTable::Waiting(std::string_view model) const {
  const std::shared_ptr<const Snapshot> now = Now();
  const Entry* entry = now->Find(model);
  return entry == nullptr ? std::map<int64_t, std::string>() : entry->waiting;
}

// Compares newer READY versions with the serving version. If no version serves, the newest version serves without a
// comparison.
std::map<int64_t, std::string> VersionTable::FindWaiting(const Entry& entry, const std::set<int64_t>& ready) {
  std::map<int64_t, std::string> waiting;
  const int64_t serving = entry.traffic.stable;
  if (!ready.contains(serving) || ready.contains(LabelledVersion(entry.plan.serving, kStableLabel))) return waiting;
  const VersionStatus& served = entry.versions.at(serving).status;
  for (auto version = ready.upper_bound(serving); version != ready.end(); ++version) {
    const VersionStatus& newer = entry.versions.at(*version).status;
    const std::string other = OtherModel(*newer.model, *served.model);
    if (other.empty() || IsCanary(entry.plan.serving, *version)) continue;
    waiting[*version] =
        absl::StrCat("gets no requests by itself: ", other, " compared with version ", serving,
                     ", which serves; vitrine admin label ", served.id.model, "@", *version, " stable makes it serve");
  }
  return waiting;
}

std::set<int64_t> VersionTable::Ready(const Entry& entry) {
  std::set<int64_t> ready;
  for (const auto& [version, known] : entry.versions) {
    if (known.status.state == v1::READY) ready.insert(version);
  }
  return ready;
}

TrafficTable VersionTable::Divided(const Entry& entry, const std::set<int64_t>& ready) {
  const auto pinned = entry.versions.find(LabelledVersion(entry.plan.serving, kStableLabel));
  const bool comes = pinned != entry.versions.end() ? pinned->second.status.state != v1::FAILED : entry.stable_on_disk;
  return MakeTrafficTable(entry.plan, ready, KeysOf(entry.waiting), comes ? &entry.traffic : nullptr);
}

void VersionTable::Divide(Entry& entry) {
  std::set<int64_t> ready = Ready(entry);
  entry.waiting = FindWaiting(entry, ready);
  entry.traffic = Divided(entry, ready);
  const int64_t stable = entry.traffic.stable;
  const size_t suspended =
      std::erase_if(ready, [&](int64_t version) { return version != stable && entry.versions.at(version).suspended; });
  if (suspended > 0) entry.traffic = Divided(entry, ready);
}

void VersionTable::Change(const VersionId& id, const std::function<void(KnownVersion&)>& change) {
  MutexLock listeners_lock(listeners_mutex_);
  v1::ModelEvent event;
  Edit(id.model, [&](Entry& entry) {
    KnownVersion& known = entry.versions[id.version];
    known.status.id = id;
    change(known);
    *event.mutable_version() = Describe(Pinned(known));
    return true;
  });
  for (const auto& [number, listener] : listeners_) listener(event);
}

void VersionTable::Remove(const VersionId& id) {
  MutexLock listeners_lock(listeners_mutex_);
  v1::ModelEvent event;
  event.set_removed(true);
  Edit(id.model, [&](Entry& entry) {
    const auto version = entry.versions.find(id.version);
    if (version == entry.versions.end()) return false;
    *event.mutable_version() = Describe(version->second.status);
    entry.versions.erase(version);
    return true;
  });
  if (!event.has_version()) return;
  for (const auto& [number, listener] : listeners_) listener(event);
}

void VersionTable::Suspend(const VersionId& id, bool suspended) {
  Edit(id.model, [&](Entry& entry) {
    const auto version = entry.versions.find(id.version);
    if (version == entry.versions.end()) return false;
    version->second.suspended = suspended;
    return true;
  });
}

void VersionTable::SetPlan(const std::string& model, const ModelPlan& plan, bool stable_on_disk) {
  const auto bytes = [](const ModelPlan& of) {
    return std::tuple(of.file.SerializeAsString(), of.serving.SerializeAsString(), of.changed.SerializeAsString());
  };
  Edit(model, [&](Entry& entry) {
    if (bytes(entry.plan) == bytes(plan) && entry.stable_on_disk == stable_on_disk) return false;
    entry.plan = plan;
    entry.stable_on_disk = stable_on_disk;
    return true;
  });
}

void VersionTable::SetComplete() {
  MutexLock lock(edit_mutex_);
  auto next = std::make_shared<Snapshot>(*Now());
  next->complete = true;
  Publish(std::move(next));
}

uint64_t VersionTable::Subscribe(Listener listener) {
  MutexLock listeners_lock(listeners_mutex_);
  for (VersionStatus& status : List()) {
    // Clears labels and traffic, as Change does: an event contains only the state.
    status.labels.clear();
    status.traffic_percent = 0;
    v1::ModelEvent event;
    *event.mutable_version() = Describe(status);
    listener(event);
  }
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

void VersionTable::Unsubscribe(uint64_t id) {
  MutexLock listeners_lock(listeners_mutex_);
  listeners_.erase(id);
}

}  // namespace vitrine
