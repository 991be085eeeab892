// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/place_ledger.h"

#include <algorithm>

namespace vitrine {
namespace {

// Number of callers with their own entry in predictions; the other callers share one.
constexpr size_t kBusiest = 64;
// Time for which capacity stays free for another caller that sent a request.
constexpr absl::Duration kSharedFor = absl::Minutes(1);

}  // namespace

Holdings PlaceLedger::Room::Of(const std::string& caller) const {
  const auto own = callers.find(caller);
  return {all, own == callers.end() ? Holding() : own->second};
}

void PlaceLedger::Room::Take(const Place& place) {
  Holding& own = callers[place.caller];
  own.requests += 1;
  own.bytes += place.bytes;
  all.requests += 1;
  all.bytes += place.bytes;
}

void PlaceLedger::Room::Give(const Place& place) {
  all.requests -= 1;
  all.bytes -= place.bytes;
  const auto own = callers.find(place.caller);
  own->second.requests -= 1;
  own->second.bytes -= place.bytes;
  if (own->second.requests == 0) callers.erase(own);
}

void PlaceLedger::NoteCaller(const std::string& caller, absl::Time now) {
  if (caller != last_caller_) {
    last_caller_ = caller;
    other_asked_ = last_asked_;
  }
  last_asked_ = now;
}

bool PlaceLedger::Shares(const std::string& caller, absl::Time now) const {
  const absl::Time other_asked = caller == last_caller_ ? other_asked_ : last_asked_;
  if (now - other_asked <= kSharedFor) return true;
  const auto own = callers_.find(caller);
  return server_.all.requests > (own == callers_.end() ? 0 : own->second.requests);
}

Holdings PlaceLedger::OfServer(const std::string& caller) const {
  return server_.Of(caller);
}

Holdings PlaceLedger::OfModel(const Place& place) const {
  const auto model = models_.find(place.model);
  return model == models_.end() ? Holdings() : model->second.Of(place.caller);
}

void PlaceLedger::Take(const Place& place, absl::Time now) {
  prune_.Step(callers_, [busiest = &busiest_, now](const auto& caller) {
    const bool idle = caller.second.requests == 0 && caller.second.Rate(now) < RecentWork::kForgottenRate;
    if (idle) busiest->erase({caller.second.total, &caller});
    return idle;
  });
  const auto caller = Account(place.caller);
  models_[place.model].Take(place);
  server_.Take(place);
  ++computing_;
  Change(caller, place.priority_class, place.cost);
  ++caller->second.requests;
  ++caller->second.computing;
  caller->second.recent[place.priority_class].Add(place.cost, now);
  recent_.Add(place.cost, now);
}

void PlaceLedger::BeginWork(Place& place) {
  Change(callers_.find(place.caller), place.priority_class, -std::exchange(place.cost, absl::ZeroDuration()));
}

void PlaceLedger::EndWork(Place& place) {
  if (std::exchange(place.is_computed, true)) return;
  const auto caller = callers_.find(place.caller);
  Change(caller, place.priority_class, -std::exchange(place.cost, absl::ZeroDuration()));
  --caller->second.computing;
  --computing_;
}

void PlaceLedger::Release(const Place& place) {
  server_.Give(place);
  const auto model = models_.find(place.model);
  model->second.Give(place);
  if (model->second.all.requests == 0) models_.erase(model);
  const auto caller = callers_.find(place.caller);
  --caller->second.requests;
  if (place.is_computed) return;
  Change(caller, place.priority_class, -place.cost);
  --caller->second.computing;
  --computing_;
}

PlaceLedger::OwnWork PlaceLedger::Own(const std::string& caller, int priority_class, absl::Time now) const {
  OwnWork own;
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return own;
  for (int c = 0; c <= priority_class; ++c) own.before += found->second.work[c];
  own.urgent = found->second.Rate(now, priority_class);
  return own;
}

OtherCaller PlaceLedger::AllOthers(const std::string& asks, absl::Time now) const {
  OtherCaller all = {.work = work_, .rate = recent_.Rate(now), .callers = static_cast<int64_t>(callers_.size())};
  if (const auto own = callers_.find(asks); own != callers_.end()) {
    all.work -= own->second.total;
    all.rate = std::max(all.rate - own->second.Rate(now), 0.0);  // rounding: a difference of decayed sums
    --all.callers;
  }
  return all;
}

std::vector<OtherCaller> PlaceLedger::Others(const std::string& asks, absl::Time now) const {
  std::vector<OtherCaller> others;
  OtherCaller rest = {.work = work_, .rate = recent_.Rate(now), .callers = static_cast<int64_t>(callers_.size())};
  const auto subtract = [&](const CallerWork& caller) {
    const OtherCaller seen = {caller.total, caller.Rate(now)};
    rest.work -= seen.work;
    rest.rate -= seen.rate;
    --rest.callers;
    return seen;
  };
  if (const auto own = callers_.find(asks); own != callers_.end()) subtract(own->second);
  size_t seen_callers = 0;
  for (const auto& [work, caller] : busiest_) {
    if (seen_callers++ == kBusiest) break;
    if (caller->first == asks) continue;
    const OtherCaller seen = subtract(caller->second);
    if (caller->second.computing > 0 || seen.rate >= RecentWork::kForgottenRate) others.push_back(seen);
  }
  if (rest.callers > 0 && (rest.work > absl::ZeroDuration() || rest.rate >= RecentWork::kForgottenRate)) {
    rest.rate = std::max(rest.rate, 0.0);  // rounding: a difference of decayed sums
    others.push_back(rest);
  }
  return others;
}

double PlaceLedger::CallerWork::Rate(absl::Time now, int classes) const {
  double rate = 0;
  for (int c = 0; c < classes; ++c) rate += recent[c].Rate(now);
  return rate;
}

PlaceLedger::Callers::iterator PlaceLedger::Account(const std::string& name) {
  const auto [caller, is_new] = callers_.try_emplace(name);
  if (is_new) busiest_.insert({caller->second.total, &*caller});
  return caller;
}

void PlaceLedger::Change(Callers::iterator caller, int priority_class, absl::Duration by) {
  CallerWork& held = caller->second;
  auto entry = busiest_.extract({held.total, &*caller});
  held.work[priority_class] += by;
  held.total += by;
  entry.value().first = held.total;
  busiest_.insert(std::move(entry));
  work_ += by;
}

}  // namespace vitrine
