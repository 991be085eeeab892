// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/admission.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {
namespace {

// Rate, in executor seconds per second, below which a caller is ignored.
constexpr double kForgottenRate = 1e-4;
// Time after which an hour's work has decayed below kForgottenRate.
constexpr absl::Duration kForgottenAfter = absl::Seconds(20);
// Number of callers that count separately when time is predicted; the rest count together.
constexpr size_t kBusiest = 64;
// Time for which places are kept free for another caller that sent a request.
constexpr absl::Duration kSharedFor = absl::Minutes(1);

// Returns the factor by which a recent rate decays in `passed`.
double Left(absl::Duration passed) {
  return std::exp(-absl::ToDoubleSeconds(passed));
}

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration), " ms");
}

}  // namespace

void Admitted::Answered(bool used) {
  if (Admission* const admission = place.owner()) admission->EndWork(place.share());
  if (!used) quota.Cancel();
}

void Admitted::Cancel() {
  place.Release();
  quota.Cancel();
  room.Cancel();
}

Admission::Holding Admission::Room::Of(const std::string& caller) const {
  const auto own = callers.find(caller);
  return own == callers.end() ? Holding() : own->second;
}

void Admission::Room::Take(const Place& place) {
  Holding& own = callers[place.caller];
  own.requests += 1;
  own.bytes += place.bytes;
  all.requests += 1;
  all.bytes += place.bytes;
}

void Admission::Room::Give(const Place& place) {
  all.requests -= 1;
  all.bytes -= place.bytes;
  const auto own = callers.find(place.caller);
  own->second.requests -= 1;
  own->second.bytes -= place.bytes;
  if (own->second.requests == 0) callers.erase(own);
}

absl::StatusOr<HeldPlace> Admission::Admit(const InferenceRequest& request) {
  const absl::Time now = clock_.Now();
  if (request.deadline <= now) {
    return absl::DeadlineExceededError("the deadline had passed when the request arrived; nothing was computed");
  }
  Question asked = QuestionOf(request, now);
  const Place& place = asked.place;
  MutexLock lock(mutex_);
  if (!request.is_probe) NoteCaller(place.caller, now);
  if (server_.all.requests > 0) {
    const bool shared = Shares(place.caller, now);
    RETURN_IF_ERROR(CheckRequests(place.caller, shared));
    RETURN_IF_ERROR(CheckBytes(place, shared));
    RETURN_IF_ERROR(CheckModel(place, shared));
  }
  if (computing_ > 0) RETURN_IF_ERROR(CheckTime(asked, now));
  Take(place, now);
  return HeldPlace(this, std::move(asked.place));
}

Admission::Question Admission::QuestionOf(const InferenceRequest& request, absl::Time now) const {
  const ModelCost& cost = *request.model->cost;
  Question asked;
  Place& place = asked.place;
  place.caller = request.caller;
  place.model = request.model->queue_limits;
  place.priority_class = ClassOf(request.request.priority());
  place.bytes = request.InputBytes();
  const std::optional<BatchLimits> batch = place.model->batch();
  const int64_t batch_tokens = batch.has_value() ? batch->max_batch_tokens : options_.max_batch_tokens;
  place.cost = cost.Predict(request.tokens, request.InputPixels(), request.overlay_pixels);
  asked.has_deadline = request.deadline != absl::InfiniteFuture();
  asked.limit = asked.has_deadline ? (request.deadline - now) * options_.deadline_share : options_.max_predicted_wait;
  asked.batch = cost.PredictBatch(batch_tokens);
  const bool in_parts = options_.in_parts && (!batch.has_value() || batch->max_wait <= absl::ZeroDuration());
  asked.group = in_parts ? cost.PredictBatch(std::max(kGroupTokens, request.tokens)) : asked.batch;
  return asked;
}

absl::Duration Admission::WorkLeft() const {
  const std::vector<absl::Duration> left = running_.Left();
  return std::accumulate(left.begin(), left.end(), work_);
}

absl::Duration Admission::TimeToFree(double part) const {
  return WorkLeft() / options_.executors * std::clamp(part, 0.0, 1.0);
}

absl::Status Admission::CheckRequestLimit(const std::string& caller) const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  return server_.all.requests > 0 ? CheckRequests(caller, Shares(caller, now)) : absl::OkStatus();
}

void Admission::NoteCaller(const std::string& caller, absl::Time now) {
  if (caller != last_caller_) {
    last_caller_ = caller;
    other_asked_ = last_asked_;
  }
  last_asked_ = now;
}

bool Admission::Shares(const std::string& caller, absl::Time now) const {
  const absl::Time other_asked = caller == last_caller_ ? other_asked_ : last_asked_;
  if (now - other_asked <= kSharedFor) return true;
  const auto own = callers_.find(caller);
  return server_.all.requests > (own == callers_.end() ? 0 : own->second.requests);
}

absl::Status Admission::CheckRequests(const std::string& caller, bool shared) const {
  const int64_t requests = server_.all.requests;
  const ShareVerdict verdict = CheckShare(requests, server_.Of(caller).requests, 1, options_.max_requests, shared);
  if (verdict == ShareVerdict::kFits) return absl::OkStatus();
  const absl::Duration retry = TimeToFree(1.0 / requests);
  if (verdict == ShareVerdict::kOverShare) {
    return ShedError(ShedReason::kShare, "this caller holds its share of the requests that the server may hold", retry);
  }
  return ShedError(ShedReason::kRequests, absl::StrCat("the server already holds ", requests, " requests, its limit"),
                   retry);
}

absl::Status Admission::CheckBytes(const Place& place, bool shared) const {
  const int64_t bytes = server_.all.bytes, own = server_.Of(place.caller).bytes;
  const ShareVerdict verdict = CheckShare(bytes, own, place.bytes, options_.max_bytes, shared);
  if (verdict == ShareVerdict::kFits) return absl::OkStatus();
  const double excess = static_cast<double>(bytes + place.bytes - options_.max_bytes);
  const absl::Duration retry = TimeToFree(std::max(excess, 1.0) / std::max<int64_t>(bytes, 1));
  if (verdict == ShareVerdict::kOverShare) {
    return ShedError(ShedReason::kShare, "this caller holds its share of the bytes that the server may hold", retry);
  }
  return ShedError(ShedReason::kBytes,
                   absl::StrCat("the server already holds ", bytes, " bytes of images; ", place.bytes,
                                " more would exceed its limit of ", options_.max_bytes),
                   retry);
}

absl::Status Admission::CheckModel(const Place& place, bool shared) const {
  const auto model = models_.find(place.model);
  if (model == models_.end() || model->second.all.requests == 0) return absl::OkStatus();
  const Holding all = model->second.all, own = model->second.Of(place.caller);
  const int64_t max_requests = place.model->max_requests, max_bytes = place.model->max_bytes;
  const absl::Duration retry = TimeToFree(1.0 / server_.all.requests);
  if (CheckShare(all.requests, own.requests, 1, max_requests, shared) != ShareVerdict::kFits) {
    return ShedError(ShedReason::kModel,
                     absl::StrCat("the server already holds ", all.requests,
                                  " requests for this model, whose limit is ", max_requests),
                     retry);
  }
  if (CheckShare(all.bytes, own.bytes, place.bytes, max_bytes, shared) != ShareVerdict::kFits) {
    return ShedError(ShedReason::kModel,
                     absl::StrCat("the server already holds ", all.bytes, " bytes of images for this model; ",
                                  place.bytes, " more would exceed its limit of ", max_bytes),
                     retry);
  }
  return absl::OkStatus();
}

absl::Status Admission::CheckTime(const Question& asked, absl::Time now) const {
  const Place& place = asked.place;
  const absl::Duration limit = asked.limit;
  const absl::Duration batch = std::min(asked.batch, std::max(asked.group, LongestPart(work_, options_.executors)));
  const bool has_deadline = asked.has_deadline;
  absl::Duration mine;
  double urgent = 0;
  if (const auto own = callers_.find(place.caller); own != callers_.end()) {
    mine = own->second.UpTo(place.priority_class);
    urgent = own->second.Rate(now, place.priority_class);
  }
  const std::vector<absl::Duration> left = running_.Left();
  const absl::Duration running = running_.Predicted();
  const auto completion_among = [&](const std::vector<OtherCaller>& others, double urgent) {
    absl::Duration ahead = WorkAhead(mine, place.cost, others, batch, options_.executors, urgent);
    if (urgent > 0) {  // limited by this request's patience
      const absl::Duration overtaking = urgent * options_.patience[place.priority_class];
      ahead = std::min(ahead, WorkAhead(mine + overtaking, place.cost, others, batch, options_.executors));
    }
    // A prediction that is too short wastes an executor's time, one that is too long only rejects a request: so behind
    // other callers the running batches count in full.
    const absl::Duration whole = (ahead + std::min(ahead, running)) / options_.executors;
    return std::max(TimeUntilDone(ahead, left, options_.executors), whole) + place.cost;
  };
  const absl::Duration allowed = std::max(limit, place.cost);  // cost alone does not reject a request
  // Bounds the usual cost of an admission independently of the number of callers.
  if (completion_among({AllOthers(place.caller, now)}, urgent) <= allowed) return absl::OkStatus();
  const std::vector<OtherCaller> others = Others(place.caller, now);
  const absl::Duration completion = completion_among(others, urgent);
  if (completion <= allowed) return absl::OkStatus();
  const std::string longer =
      absl::StrCat("longer than ", has_deadline ? "the deadline allows" : "its limit of " + Milliseconds(limit));
  if (completion_among({}, urgent) <= limit) {
    int64_t callers = 1;
    for (const OtherCaller& other : others) callers += other.callers;
    return ShedError(ShedReason::kShare,
                     absl::StrCat("the server is busy with ", callers,
                                  " callers: in turn with the others the answer would take about ",
                                  Milliseconds(completion), ", ", longer),
                     completion - limit);
  }
  const ShedReason reason = has_deadline ? ShedReason::kDeadline : ShedReason::kWait;
  const absl::Duration of_what_is_here = completion_among(others, 0);
  if (of_what_is_here > limit) {
    return ShedError(
        reason,
        absl::StrCat("the server is busy: the answer would take about ", Milliseconds(of_what_is_here), ", ", longer),
        of_what_is_here - limit);
  }
  // How long the caller keeps sending urgent requests is unknown, so the message names no time; the decay of their rate
  // is known, and gives the retry delay.
  absl::Duration retry = absl::Milliseconds(10);
  while (retry < kForgottenAfter && completion_among(others, urgent * Left(retry)) > limit) retry *= 2;
  return ShedError(
      reason,
      absl::StrCat("the server is busy: at the rate of late more urgent requests of this caller would keep "
                   "overtaking this one for ",
                   longer),
      retry);
}

OtherCaller Admission::AllOthers(const std::string& asks, absl::Time now) const {
  OtherCaller all = {.work = work_, .rate = recent_.Rate(now), .callers = static_cast<int64_t>(callers_.size())};
  if (const auto own = callers_.find(asks); own != callers_.end()) {
    all.work -= own->second.total;
    all.rate = std::max(all.rate - own->second.Rate(now), 0.0);  // a difference of decayed sums
    --all.callers;
  }
  return all;
}

std::vector<OtherCaller> Admission::Others(const std::string& asks, absl::Time now) const {
  std::vector<OtherCaller> others;
  OtherCaller rest = {.work = work_, .rate = recent_.Rate(now), .callers = static_cast<int64_t>(callers_.size())};
  const auto look = [&](const CallerWork& caller) {
    const OtherCaller seen = {caller.total, caller.Rate(now)};
    rest.work -= seen.work;
    rest.rate -= seen.rate;
    --rest.callers;
    return seen;
  };
  if (const auto own = callers_.find(asks); own != callers_.end()) look(own->second);
  size_t looks = 0;
  for (const auto& [work, caller] : busiest_) {
    if (looks++ == kBusiest) break;
    if (caller->first == asks) continue;
    const OtherCaller seen = look(caller->second);
    if (caller->second.computing > 0 || seen.rate >= kForgottenRate) others.push_back(seen);
  }
  if (rest.callers > 0 && (rest.work > absl::ZeroDuration() || rest.rate >= kForgottenRate)) {
    rest.rate = std::max(rest.rate, 0.0);  // a difference of decayed sums
    others.push_back(rest);
  }
  return others;
}

absl::Duration Admission::CallerWork::UpTo(int priority_class) const {
  absl::Duration sum;
  for (int c = 0; c <= priority_class; ++c) sum += work[c];
  return sum;
}

double Admission::CallerWork::Rate(absl::Time now, int classes) const {
  double rate = 0;
  for (int c = 0; c < classes; ++c) rate += recent[c].Rate(now);
  return rate;
}

double Admission::Recent::Rate(absl::Time now) const {
  // Common for remembered callers: the value has decayed to nothing, so the exponential need not be computed.
  if (now - at > kForgottenAfter) return 0;
  return absl::ToDoubleSeconds(work) * Left(now - at);
}

void Admission::Recent::Add(absl::Duration cost, absl::Time now) {
  work = absl::Seconds(Rate(now)) + cost;
  at = now;
}

void Admission::Change(Callers::iterator caller, int priority_class, absl::Duration by) {
  CallerWork& held = caller->second;
  auto place = busiest_.extract({held.total, &*caller});
  held.work[priority_class] += by;
  held.total += by;
  place.value().first = held.total;
  busiest_.insert(std::move(place));
  work_ += by;
}

Admission::Callers::iterator Admission::Account(const std::string& name) {
  const auto [caller, is_new] = callers_.try_emplace(name);
  if (is_new) busiest_.insert({caller->second.total, &*caller});
  return caller;
}

void Admission::Take(const Place& place, absl::Time now) {
  prune_.Step(callers_, [busiest = &busiest_, now](const auto& caller) {
    const bool idle = caller.second.requests == 0 && caller.second.Rate(now) < kForgottenRate;
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

HeldBatch Admission::Begin(std::span<const std::unique_ptr<InferenceRequest>> batch) {
  const ModelCost& cost = *batch.front()->model->cost;
  int64_t tokens = 0;
  absl::Duration beside;
  MutexLock lock(mutex_);
  for (const auto& request : batch) {
    tokens += request->tokens;
    beside += cost.PredictBesideCompute(request->InputPixels(), request->overlay_pixels);
    if (request->admitted == nullptr || request->admitted->place.owner() != this) continue;
    Place& place = request->admitted->place.share();
    Change(callers_.find(place.caller), place.priority_class, -std::exchange(place.cost, absl::ZeroDuration()));
  }
  return running_.Begin(cost.PredictBatchAtMost(tokens) + beside);
}

void Admission::EndWork(Place& place) {
  MutexLock lock(mutex_);
  if (std::exchange(place.is_computed, true)) return;
  const auto caller = callers_.find(place.caller);
  Change(caller, place.priority_class, -std::exchange(place.cost, absl::ZeroDuration()));
  --caller->second.computing;
  --computing_;
}

void Admission::Release(const Place& place) {
  MutexLock lock(mutex_);
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

size_t Admission::callers() const {
  MutexLock lock(mutex_);
  return callers_.size();
}

AdmissionStatus Admission::load() const {
  MutexLock lock(mutex_);
  return {.requests = server_.all.requests,
          .bytes = server_.all.bytes,
          .work = WorkLeft(),
          .limit_requests = options_.max_requests,
          .limit_bytes = options_.max_bytes,
          .computing = computing_};
}

}  // namespace vitrine
