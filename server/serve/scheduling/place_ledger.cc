// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/place_ledger.h"

#include <algorithm>

namespace vitrine {
namespace {

// Number of callers with their own entry in predictions; the other callers share one entry.
constexpr size_t kBusiest = 64;
// Time for which capacity is kept free for a caller after its last request.
constexpr absl::Duration kSharedFor = absl::Minutes(1);

}  // namespace

void PlaceLedger::NoteCaller(const std::string& caller, absl::Time now) {
  if (caller != last_caller_) {
    last_caller_ = caller;
    other_asked_ = last_asked_;
  }
  last_asked_ = now;
}

bool PlaceLedger::Shares(const std::string& caller, const Holdings& held, absl::Time now) const {
  const absl::Time other_asked = caller == last_caller_ ? other_asked_ : last_asked_;
  return now - other_asked <= kSharedFor || held.all.requests > held.own.requests;
}

Holdings PlaceLedger::OfServer(CallerId caller) const {
  return {server_, Of(caller).held};
}

Holdings PlaceLedger::OfModel(const Place& place) const {
  Holdings held;
  if (const auto model = models_.find(place.model); model != models_.end()) held.all = model->second;
  for (const auto& [model, own] : Of(place.caller).models) {
    if (model == place.model.get()) held.own = own;
  }
  return held;
}

void PlaceLedger::Take(Place& place, const std::string& caller, absl::Time now) {
  if (place.caller == kNoCaller) {
    place.caller = accounts_.Enter(caller);
    busiest_.insert({absl::ZeroDuration(), place.caller});
  }
  Account& account = accounts_[place.caller];
  const auto model = std::find_if(account.models.begin(), account.models.end(),
                                  [&](const auto& each) { return each.first == place.model.get(); });
  (model == account.models.end() ? account.models.emplace_back(place.model.get(), Holding()) : *model)
      .second.Take(place);
  account.held.Take(place);
  models_[place.model].Take(place);
  server_.Take(place);
  ++account.computing;
  ++computing_;
  Change(place, place.cost);
  account.recent[place.priority_class].Add(place.cost, now);
  recent_.Add(place.cost, now);
  accounts_.Prune([this, now](CallerId id, const Account& seen) {
    const bool idle = seen.held.requests == 0 && seen.Rate(now) < RecentWork::kForgottenRate;
    if (idle) busiest_.erase({seen.listed, id});
    return idle;
  });
}

void PlaceLedger::BeginWork(Place& place) {
  Change(place, -std::exchange(place.cost, absl::ZeroDuration()));
}

void PlaceLedger::EndWork(Place& place) {
  if (std::exchange(place.is_computed, true)) return;
  Change(place, -std::exchange(place.cost, absl::ZeroDuration()));
  --accounts_[place.caller].computing;
  --computing_;
}

void PlaceLedger::Release(const Place& place) {
  Account& account = accounts_[place.caller];
  const auto own = std::find_if(account.models.begin(), account.models.end(),
                                [&](const auto& each) { return each.first == place.model.get(); });
  own->second.Give(place);
  if (own->second.requests == 0) account.models.erase(own);
  account.held.Give(place);
  const auto model = models_.find(place.model);
  model->second.Give(place);
  if (model->second.requests == 0) models_.erase(model);
  server_.Give(place);
  if (place.is_computed) return;
  Change(place, -place.cost);
  --account.computing;
  --computing_;
}

PlaceLedger::OwnWork PlaceLedger::Own(CallerId caller, int priority_class, absl::Time now) const {
  const Account& account = Of(caller);
  OwnWork own;
  for (int c = 0; c <= priority_class; ++c) own.before += account.work[c];
  own.urgent = account.Rate(now, priority_class);
  return own;
}

OtherCaller PlaceLedger::AllOthers(CallerId asks, absl::Time now) const {
  OtherCaller all = {.work = work_, .rate = recent_.Rate(now), .callers = static_cast<int64_t>(accounts_.size())};
  if (asks != kNoCaller) {
    all.work -= accounts_[asks].total;
    all.rate = std::max(all.rate - accounts_[asks].Rate(now), 0.0);  // rounding may make the difference negative
    --all.callers;
  }
  return all;
}

std::vector<OtherCaller> PlaceLedger::Others(CallerId asks, absl::Time now) {
  std::vector<OtherCaller> others;
  OtherCaller rest = AllOthers(asks, now);
  size_t seen_callers = 0;
  for (auto busy = busiest_.begin(); busy != busiest_.end() && seen_callers < kBusiest;) {
    const auto entry = *busy;
    const Account& account = accounts_[entry.second];
    if (account.total < entry.first) {
      List(entry.second);
      busy = busiest_.lower_bound(entry);
      continue;
    }
    ++busy;
    ++seen_callers;
    if (entry.second == asks) continue;
    const OtherCaller seen = {account.total, account.Rate(now)};
    rest.work -= seen.work;
    rest.rate -= seen.rate;
    --rest.callers;
    if (account.computing > 0 || seen.rate >= RecentWork::kForgottenRate) others.push_back(seen);
  }
  if (rest.callers > 0 && (rest.work > absl::ZeroDuration() || rest.rate >= RecentWork::kForgottenRate)) {
    rest.rate = std::max(rest.rate, 0.0);  // rounding may make the difference negative
    others.push_back(rest);
  }
  return others;
}

double PlaceLedger::Account::Rate(absl::Time now, int classes) const {
  double rate = 0;
  for (int c = 0; c < classes; ++c) rate += recent[c].Rate(now);
  return rate;
}

const PlaceLedger::Account& PlaceLedger::Of(CallerId caller) const {
  static const auto& nothing = *new Account;
  return caller == kNoCaller ? nothing : accounts_[caller];
}

void PlaceLedger::Change(const Place& place, absl::Duration by) {
  if (by == absl::ZeroDuration()) return;
  Account& account = accounts_[place.caller];
  account.work[place.priority_class] += by;
  account.total += by;
  work_ += by;
  if (account.total > account.listed) List(place.caller);
}

void PlaceLedger::List(CallerId caller) {
  Account& account = accounts_[caller];
  auto entry = busiest_.extract({account.listed, caller});
  entry.value().first = account.listed = account.total;
  busiest_.insert(std::move(entry));
}

}  // namespace vitrine
