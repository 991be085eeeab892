// SPDX-License-Identifier: Apache-2.0
#include "server/models/admin/canary_watch.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/log.h"
#include "server/observe/model_metrics.h"

namespace vitrine {
namespace {

// As that of the thread that loads: running goldens must not take the cores of those who serve.
constexpr int kNiceness = 10;

}  // namespace

void CanaryWatch::Start(RollBack roll_back) {
  MutexLock lock(ticker_mutex_);
  if (ticker_ != nullptr) return;
  ticker_ = std::make_unique<Ticker>(kPeriod, [this, roll_back = std::move(roll_back), first = true]() mutable {
    // On Linux this is the niceness of the calling thread alone.
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
    const ModelPlan plan = settings_.Plan(model);
    if (!plan.serving.has_canary_guard()) continue;
    for (const int64_t version : Canaries(registry_.Traffic(model))) {
      seen.insert({model, version});
      LookAt({model, version}, plan.serving.canary_guard(), roll_back);
    }
  }
  MutexLock lock(mutex_);
  std::erase_if(canaries_, [&](const auto& canary) { return !seen.contains(canary.first); });
}

void CanaryWatch::LookAt(const VersionId& id, const v1::CanaryGuard& guard, const RollBack& roll_back) {
  const absl::StatusOr<ModelHandle> model = registry_.Find(id.model, id.version);
  if (!model.ok()) return;
  const std::optional<RollbackVerdict> verdict = Judge(id, *model, guard);
  if (!verdict.has_value()) return;
  const absl::Status done = roll_back(id, absl::StrCat("rolled back by the canary guard: ", verdict->reason));
  if (absl::IsAborted(done)) return;
  if (done.ok()) {
    Log(LogLevel::kWarning, "canary rolled back",
        {{"model", id.model}, {"version", id.version}, {"reason", verdict->reason}});
    (*model)->metrics->CountRollback(verdict->cause);
    return;
  }
  MutexLock lock(mutex_);
  std::string fault = std::string(done.message());
  if (std::exchange(canaries_[id].last_fault, fault) == fault) return;
  spdlog::error("model {} version {} should be rolled back ({}), but cannot: {}", id.model, id.version, verdict->reason,
                fault);
}

// Goldens are run without the lock: they take a while.
std::optional<RollbackVerdict> CanaryWatch::Judge(const VersionId& id, const ModelHandle& model,
                                                  const v1::CanaryGuard& guard) {
  const absl::Time now = clock_.Now();
  bool golden_due = false;
  {
    MutexLock lock(mutex_);
    Canary& canary = canaries_[id];
    if (canary.model.lock() != model) {
      canary = Canary{.model = model,
                      .window = {},
                      .stable = {},
                      .compute = {},
                      .next_golden = now + GoldenIntervalOf(guard),
                      .drift = {},
                      .last_fault = ""};
    }
    golden_due = guard.has_max_golden_drift() && now >= canary.next_golden;
    if (golden_due) canary.next_golden = now + GoldenIntervalOf(guard);
  }
  const std::optional<double> drift = golden_due ? std::optional<double>(DriftNow(*model)) : std::nullopt;
  const RequestTotals requests = model->version_metrics->Requests();
  OutcomeWindow::Counts total;
  total.errors = static_cast<int64_t>(requests.Faults());
  total.answers = static_cast<int64_t>(requests.OfCode(absl::StatusCode::kOk)) + total.errors;
  const ModelHandle stable = StableOf(id.model);
  MutexLock lock(mutex_);
  Canary& canary = canaries_[id];
  canary.window.Add(now, total, WindowOf(guard));
  if (canary.stable.lock() != stable) {
    canary.stable = stable;
    canary.compute = {};
  }
  if (stable != nullptr) {
    canary.compute.Add(now, {model->computed->Read(), stable->computed->Read()}, WindowOf(guard));
  }
  if (drift.has_value()) canary.drift = drift;
  return JudgeCanary(guard, canary.window.InWindow(), canary.drift, canary.Compared());
}

ModelHandle CanaryWatch::StableOf(const std::string& model) const {
  absl::StatusOr<ModelHandle> stable = registry_.Find(model, registry_.Traffic(model).stable);
  return stable.ok() ? *std::move(stable) : nullptr;
}

ComputeComparison CanaryWatch::Canary::Compared() const {
  const ComputePair in_window = compute.InWindow();
  return Compare(in_window.canary, in_window.stable);
}

double CanaryWatch::DriftNow(const LoadedModel& model) const {
  const absl::StatusOr<double> drift = drift_(model);
  if (drift.ok()) return *drift;
  spdlog::error("model {} version {}: the goldens do not compute: {}", model.id.model, model.id.version,
                std::string(drift.status().message()));
  return std::numeric_limits<double>::infinity();
}

std::vector<v1::CanaryStatus> CanaryWatch::Statuses(const std::string& model) const {
  MutexLock lock(mutex_);
  std::vector<v1::CanaryStatus> statuses;
  for (const auto& [id, canary] : canaries_) {
    if (id.model != model) continue;
    const OutcomeWindow::Counts counts = canary.window.InWindow();
    v1::CanaryStatus& status = statuses.emplace_back();
    status.set_version(id.version);
    status.set_requests(counts.answers);
    status.set_errors(counts.errors);
    status.set_golden_drift(canary.drift.value_or(-1));
    const ComputeComparison compared = canary.Compared();
    status.set_compute_ratio(compared.ratio);
    status.set_compared(compared.pictures);
  }
  return statuses;
}

}  // namespace vitrine
