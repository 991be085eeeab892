// SPDX-License-Identifier: Apache-2.0
#include "server/admin/canary_watch.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/log.h"
#include "server/observe/model_metrics.h"
#include "server/registry/version_difference.h"

namespace vitrine {
namespace {

// Niceness that is added to the watch thread, so that runs of the goldens take little CPU time from serving threads.
constexpr int kNiceness = 10;

// Returns the manifest's tolerance for the model's device and precision; nullopt if there is none.
std::optional<double> ToleranceOf(const LoadedModel& model) {
  const std::string kind = model.device.substr(0, model.device.find(':'));
  for (const v1::GoldenTolerance& row : model.manifest.golden_tolerances()) {
    if (row.device() == kind && row.precision() == model.precision) return row.tolerance();
  }
  return std::nullopt;
}

}  // namespace

void CanaryWatch::Start(RollBack roll_back) {
  MutexLock lock(ticker_mutex_);
  if (ticker_ != nullptr) return;
  ticker_ = std::make_unique<Ticker>(kPeriod, [this, roll_back = std::move(roll_back), first = true]() mutable {
    // On Linux, setpriority sets only the calling thread's niceness.
    if (first) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
    first = false;
    Look(roll_back);
  });
}

void CanaryWatch::Stop() {
  std::unique_ptr<Ticker> ticker;
  MutexLock lock(ticker_mutex_);
  ticker = std::move(ticker_);
}

void CanaryWatch::Look(const RollBack& roll_back) {
  std::set<VersionId> seen;
  for (const std::string& model : settings_.Models()) {
    const v1::CanaryGuard guard = settings_.Plan(model).serving.canary_guard();
    if (guard.off()) continue;
    for (const int64_t version : registry_.ActiveCanaries(model)) {
      seen.insert({model, version});
      Judge({model, version}, guard);
    }
  }
  std::map<VersionId, RollbackVerdict> judged;
  {
    MutexLock lock(mutex_);
    for (auto canary = canaries_.begin(); canary != canaries_.end();) {
      if (canary->second.verdict.has_value()) {
        judged[canary->first] = *canary->second.verdict;
      } else if (!seen.contains(canary->first)) {
        if (const ModelHandle model = canary->second.model.lock()) model->paired->CompareWith({});
        canary = canaries_.erase(canary);
        continue;
      }
      ++canary;
    }
  }
  for (const auto& [id, verdict] : judged) PutAway(id, verdict, roll_back);
}

void CanaryWatch::PutAway(const VersionId& id, const RollbackVerdict& verdict, const RollBack& roll_back) {
  // Finds the model before the rollback retires the version, because the rollback is counted in the model's metrics
  // afterwards.
  const absl::StatusOr<ModelHandle> found = registry_.Find(id.model, id.version);
  const ModelHandle model = found.ok() ? *found : nullptr;
  const absl::Status done = roll_back(id, absl::StrCat(kByGuard, verdict.reason));
  {
    MutexLock lock(mutex_);
    Canary& canary = canaries_[id];
    if (!done.ok() && !absl::IsAborted(done)) {
      std::string fault = std::string(done.message());
      if (std::exchange(canary.last_fault, fault) == fault) return;
      Log(LogLevel::kError, "canary cannot be rolled back yet",
          {{"model", id.model}, {"version", id.version}, {"reason", verdict.reason}, {"fault", fault}});
      return;
    }
    canaries_.erase(id);
  }
  if (model != nullptr) model->paired->CompareWith({});
  if (!done.ok()) return;
  Log(LogLevel::kWarning, "canary rolled back",
      {{"model", id.model}, {"version", id.version}, {"reason", verdict.reason}});
  if (model != nullptr) model->metrics->CountRollback(verdict.cause);
}

// Resets the state of a reloaded canary. Returns true if it is time to run its goldens again.
bool CanaryWatch::BeginLook(const VersionId& id, const ModelHandle& model, const v1::CanaryGuard& guard,
                            absl::Time now) {
  MutexLock lock(mutex_);
  Canary& canary = canaries_[id];
  if (canary.model.lock() != model) {
    canary = Canary();
    canary.model = model;
    canary.next_golden = now + GoldenIntervalOf(guard);
  }
  const bool is_bounded = guard.has_max_golden_drift() || ToleranceOf(*model).has_value();
  const bool is_due = is_bounded && now >= canary.next_golden;
  if (is_due) canary.next_golden = now + GoldenIntervalOf(guard);
  return is_due;
}

// Judges one canary. The lock is not held while the goldens run, because a run may take seconds.
void CanaryWatch::Judge(const VersionId& id, const v1::CanaryGuard& guard) {
  const absl::StatusOr<ModelHandle> found = registry_.Find(id.model, id.version);
  if (!found.ok()) return;
  const ModelHandle& model = *found;
  const absl::Time now = clock_.Now();
  const bool golden_due = BeginLook(id, model, guard, now);
  const std::optional<double> drift = golden_due ? DriftNow(*model) : std::nullopt;
  const ModelHandle stable = StableOf(id.model);
  MutexLock lock(mutex_);
  Canary& canary = canaries_[id];
  if (drift.has_value()) canary.drift = drift;
  canary.Sample(now, model, stable, guard);
  if (!canary.verdict.has_value()) canary.verdict = JudgeCanary(guard, canary.Evidence());
}

void CanaryWatch::Canary::Sample(absl::Time now, const ModelHandle& canary, const ModelHandle& other,
                                 const v1::CanaryGuard& guard) {
  const RequestTotals requests = canary->version_metrics->Requests();
  OutcomeCounts total;
  total.errors = static_cast<int64_t>(requests.Faults());
  total.answers = static_cast<int64_t>(requests.OfCode(absl::StatusCode::kOk)) + total.errors;
  window.Add(now, total, WindowOf(guard));
  if (stable.lock() != other) {
    stable = other;
    compute = {};
    answers = {};
  }
  other_classes = other == nullptr ? "" : OtherClasses(*canary, *other);
  const bool is_comparable = other != nullptr && other_classes.empty();
  const bool is_paired = is_comparable && ComparesPairs(guard) && TakeTheSameInputs(*canary, *other);
  canary->paired->CompareWith(is_paired ? other : nullptr);
  if (other == nullptr) return;
  compute.Add(now, {canary->computed->Read(), other->computed->Read()}, WindowOf(guard));
  if (!is_comparable) return;
  answers.Add(now, {canary->answered->Read(), other->answered->Read(), canary->paired->Read()}, WindowOf(guard));
}

CanaryEvidence CanaryWatch::Canary::Evidence() const {
  const ComputePair computed = compute.InWindow();
  const AnswerPair answered = answers.InWindow();
  const ModelHandle canary = model.lock();
  return {.counts = window.InWindow(),
          .drift = drift,
          .tolerance = canary == nullptr ? std::nullopt : ToleranceOf(*canary),
          .compute = Compare(computed.canary, computed.stable),
          .answers = Compare(answered.canary, answered.stable),
          .paired = answered.paired,
          .other_classes = other_classes};
}

ModelHandle CanaryWatch::StableOf(const std::string& model) const {
  absl::StatusOr<ModelHandle> stable = registry_.Find(model, registry_.Traffic(model).stable);
  return stable.ok() ? *std::move(stable) : nullptr;
}

std::optional<double> CanaryWatch::DriftNow(const LoadedModel& model) const {
  const absl::StatusOr<double> drift = drift_(model);
  if (drift.ok()) return *drift;
  spdlog::error("model {} version {}: computing the goldens failed: {}", model.id.model, model.id.version,
                std::string(drift.status().message()));
  if (absl::IsResourceExhausted(drift.status())) return std::nullopt;
  return std::numeric_limits<double>::infinity();
}

std::vector<v1::CanaryStatus> CanaryWatch::Statuses(const std::string& model) const {
  MutexLock lock(mutex_);
  std::vector<v1::CanaryStatus> statuses;
  for (const auto& [id, canary] : canaries_) {
    if (id.model != model) continue;
    const CanaryEvidence evidence = canary.Evidence();
    v1::CanaryStatus& status = statuses.emplace_back();
    status.set_version(id.version);
    status.set_requests(evidence.counts.answers);
    status.set_errors(evidence.counts.errors);
    status.set_golden_drift(evidence.drift.value_or(-1));
    status.set_compute_ratio(evidence.compute.ratio);
    status.set_compared(evidence.compute.images);
    status.set_answers_compared(evidence.answers.images);
    status.set_confidence_difference(evidence.answers.confidence.value);
    status.set_class_difference(evidence.answers.classes.value);
    status.set_unsure_difference(evidence.answers.unsure.value);
    const PairCounts& paired = evidence.paired;
    status.set_paired(paired.images);
    if (paired.images > 0) {
      status.set_disagreement(static_cast<double>(paired.different) / static_cast<double>(paired.images));
    }
  }
  return statuses;
}

}  // namespace vitrine
