// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/admission.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/serve/scheduling/answer_time.h"
#include "server/serve/scheduling/fair_share.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

void Admitted::Answered(bool used) {
  if (Admission* const admission = place.owner()) admission->EndWork(place.share());
  if (!used) quota.Cancel();
}

void Admitted::Cancel() {
  place.Release();
  quota.Cancel();
  room.Cancel();
}

absl::StatusOr<HeldPlace> Admission::Admit(const InferenceRequest& request) {
  const absl::Time now = clock_.Now();
  if (request.deadline <= now) {
    return absl::DeadlineExceededError("the deadline had passed when the request arrived; nothing was computed");
  }
  Place place = PlaceOf(request);
  const BatchTimes batch = BatchTimesOf(request);
  MutexLock lock(mutex_);
  place.caller = places_.Find(request.caller);
  if (!request.is_probe) places_.NoteCaller(request.caller, now);
  if (const Holdings held = places_.OfServer(place.caller); held.all.requests > 0) {
    const bool shared = places_.Shares(request.caller, held, now);
    RETURN_IF_ERROR(CheckRequests(held, shared));
    RETURN_IF_ERROR(CheckBytes(place, held, shared));
    RETURN_IF_ERROR(CheckModel(place, shared));
  }
  if (places_.computing() > 0 && request.is_first_of_call) RETURN_IF_ERROR(CheckTime(request, place, batch, now));
  places_.Take(place, request.caller, now);
  return HeldPlace(this, std::move(place));
}

Place Admission::PlaceOf(const InferenceRequest& request) const {
  Place place;
  place.model = request.model->queue_limits;
  place.priority_class = ClassOf(request.request.priority());
  place.bytes = request.InputBytes();
  place.cost = request.model->cost->Predict(request.tokens, request.InputPixels(), request.overlay_pixels);
  return place;
}

absl::Duration Admission::WorkLeft() const {
  const std::vector<absl::Duration> left = running_.Left();
  return std::accumulate(left.begin(), left.end(), places_.waiting());
}

absl::Duration Admission::TimeToFree(double part) const {
  return WorkLeft() / options_.executors * std::clamp(part, 0.0, 1.0);
}

absl::Status Admission::CheckRequestLimit(const std::string& caller) const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  const Holdings held = places_.OfServer(places_.Find(caller));
  return held.all.requests > 0 ? CheckRequests(held, places_.Shares(caller, held, now)) : absl::OkStatus();
}

absl::Status Admission::CheckRequests(const Holdings& held, bool shared) const {
  const int64_t requests = held.all.requests;
  const ShareVerdict verdict = CheckShare(requests, held.own.requests, 1, options_.max_requests, shared);
  if (verdict == ShareVerdict::kFits) return absl::OkStatus();
  const absl::Duration retry = TimeToFree(1.0 / requests);
  if (verdict == ShareVerdict::kOverShare) {
    return ShedError(ShedReason::kShare, "this caller has used up its share of the server's request limit", retry);
  }
  return ShedError(ShedReason::kRequests, absl::StrCat("the server already has ", requests, " requests, its limit"),
                   retry);
}

absl::Status Admission::CheckBytes(const Place& place, const Holdings& held, bool shared) const {
  const int64_t bytes = held.all.bytes;
  const ShareVerdict verdict = CheckShare(bytes, held.own.bytes, place.bytes, options_.max_bytes, shared);
  if (verdict == ShareVerdict::kFits) return absl::OkStatus();
  const double excess = static_cast<double>(bytes + place.bytes - options_.max_bytes);
  const absl::Duration retry = TimeToFree(std::max(excess, 1.0) / std::max<int64_t>(bytes, 1));
  if (verdict == ShareVerdict::kOverShare) {
    return ShedError(ShedReason::kShare, "this caller has used up its share of the server's byte limit", retry);
  }
  return ShedError(ShedReason::kBytes,
                   absl::StrCat("the server already has ", bytes, " bytes of images; ", place.bytes,
                                " more would exceed its limit of ", options_.max_bytes),
                   retry);
}

absl::Status Admission::CheckModel(const Place& place, bool shared) const {
  const auto [all, own] = places_.OfModel(place);
  if (all.requests == 0) return absl::OkStatus();
  const int64_t max_requests = place.model->max_requests, max_bytes = place.model->max_bytes;
  const absl::Duration retry = TimeToFree(1.0 / places_.OfServer(place.caller).all.requests);
  if (CheckShare(all.requests, own.requests, 1, max_requests, shared) != ShareVerdict::kFits) {
    return ShedError(ShedReason::kModel,
                     absl::StrCat("the server already has ", all.requests, " requests for this model, whose limit is ",
                                  max_requests),
                     retry);
  }
  if (CheckShare(all.bytes, own.bytes, place.bytes, max_bytes, shared) != ShareVerdict::kFits) {
    return ShedError(ShedReason::kModel,
                     absl::StrCat("the server already has ", all.bytes, " bytes of images for this model; ",
                                  place.bytes, " more would exceed its limit of ", max_bytes),
                     retry);
  }
  return absl::OkStatus();
}

Admission::BatchTimes Admission::BatchTimesOf(const InferenceRequest& request) const {
  const ModelCost& cost = *request.model->cost;
  const std::optional<BatchLimits> limits = request.model->queue_limits->batch();
  const absl::Duration longest =
      cost.PredictBatch(limits.has_value() ? limits->max_batch_tokens : options_.max_batch_tokens);
  const bool in_parts = options_.in_parts && (!limits.has_value() || limits->max_wait <= absl::ZeroDuration());
  return {.longest = longest,
          .shortest_part = in_parts ? cost.PredictBatch(std::max(kGroupTokens, request.tokens)) : longest};
}

absl::Status Admission::CheckTime(const InferenceRequest& request, const Place& place, const BatchTimes& batch,
                                  absl::Time now) {
  const bool has_deadline = request.deadline != absl::InfiniteFuture();
  const auto [before, urgent] = places_.Own(place.caller, place.priority_class, now);
  const NewRequest asked = {
      .cost = place.cost,
      .limit = has_deadline ? (request.deadline - now) * options_.deadline_share : options_.max_predicted_wait,
      .has_deadline = has_deadline,
      .batch =
          std::min(batch.longest, std::max(batch.shortest_part, LongestPart(places_.waiting(), options_.executors))),
      .patience = options_.patience[place.priority_class],
      .mine = before + request.images_behind * place.cost,
      .urgent = urgent,
      .executors = options_.executors,
      .left = running_.Left(),
      .running = running_.Predicted()};
  const auto others = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return places_.Others(place.caller, now); };
  return CheckAnswerTime(asked, places_.AllOthers(place.caller, now), others);
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
    places_.BeginWork(request->admitted->place.share());
  }
  return running_.Begin(cost.PredictBatch(tokens) + beside, cost.PredictionError(tokens));
}

void Admission::EndWork(Place& place) {
  MutexLock lock(mutex_);
  places_.EndWork(place);
}

void Admission::Release(const Place& place) {
  MutexLock lock(mutex_);
  places_.Release(place);
}

size_t Admission::callers() const {
  MutexLock lock(mutex_);
  return places_.callers();
}

AdmissionStatus Admission::load() const {
  MutexLock lock(mutex_);
  const Holding all = places_.OfServer(kNoCaller).all;
  return {.requests = all.requests,
          .bytes = all.bytes,
          .work = WorkLeft(),
          .limit_requests = options_.max_requests,
          .limit_bytes = options_.max_bytes,
          .computing = places_.computing()};
}

}  // namespace vitrine
