// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/compute_probe.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/serve/request/plan_request.h"

namespace vitrine {
namespace {

constexpr absl::Duration kShortestTick = absl::Milliseconds(20), kLongestTick = absl::Seconds(1);
// Maximum wait for an answer before the clock is read again.
constexpr absl::Duration kLongestStep = absl::Milliseconds(100);
// Number of consecutive failures of one model before the device is checked.
constexpr int kFailuresBeforeFatal = 2;
// Side of the grey probe image, in pixels. A small image is enough to find out whether a model computes.
constexpr int kSide = 32;

ReceivedClassify GreyImage(const std::string& model) {
  v1::ClassifyRequest request;
  request.set_model(model);
  request.set_priority(v1::HIGH);
  request.set_omit_predictions(true);  // the model may have no classes
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_height(kSide);
  tensor.set_width(kSide);
  tensor.set_channels(3);
  tensor.set_data_type(v1::RawTensor::DATA_UINT8);
  tensor.set_data(std::string(kSide * kSide * 3, '\x80'));
  return ReceivedOf(std::move(request));
}

}  // namespace

// An answer that a thread waits for. The answer may arrive after the thread has given up.
template <class T>
struct ComputeProbe::Answer {
  Mutex mutex;
  CondVar came;
  std::optional<T> value ABSL_GUARDED_BY(mutex);

  void Put(T answer) {
    MutexLock lock(mutex);
    value = std::move(answer);
    came.NotifyAll();
  }
};

template <class T>
std::optional<T> ComputeProbe::Await(Answer<T>& answer) const {
  absl::Duration waited;
  absl::Time last = clock_.Now();
  MutexLock lock(answer.mutex);
  while (!answer.value.has_value() && waited < options_.timeout && !stopping_.load(std::memory_order_acquire)) {
    const absl::Duration step = std::min(options_.timeout - waited, kLongestStep);
    answer.came.WaitFor(answer.mutex, step);
    // A wait counts for at most its step: if it took longer, the whole process with its executors was stopped (SIGSTOP,
    // a frozen control group).
    const absl::Time now = clock_.Now();
    waited += std::min(now - std::exchange(last, now), step);
  }
  return answer.value;
}

// Returns the result of `fatal`, or true if `fatal` does not return within the timeout. Calls it on a separate thread,
// because `fatal` never returns if a GPU kernel never ends.
bool ComputeProbe::IsLost() const {
  const auto answer = std::make_shared<Answer<bool>>();
  try {
    std::thread([answer, fatal = parts_.fatal] { answer->Put(fatal()); }).detach();
  } catch (const std::system_error&) {  // no thread can be started: the check is repeated after the next failure
    return false;
  }
  const std::optional<bool> lost = Await(*answer);
  return lost.value_or(!stopping_.load(std::memory_order_acquire));
}

void ComputeProbe::EndIfLost() const {
  if (parts_.fatal != nullptr && IsLost()) parts_.end();
}

ComputeProbe::ComputeProbe(const ComputeProbeOptions& options, Parts parts, const Clock& clock)
    : options_(options), parts_(std::move(parts)), clock_(clock), last_success_(absl::ToUnixNanos(clock.Now())) {}

void ComputeProbe::Start() {
  ticker_.emplace(std::clamp(options_.interval / 4, kShortestTick, kLongestTick), [this] { Tick(); });
}

void ComputeProbe::Stop() {
  stopping_.store(true, std::memory_order_release);
  ticker_.reset();
}

void ComputeProbe::Tick() {
  bool failing = false;
  {
    MutexLock lock(mutex_);
    failing = !failures_.empty();
  }
  if (failing || Silent()) (void)Try();
}

bool ComputeProbe::Silent() const {
  const int64_t silence = absl::ToUnixNanos(clock_.Now()) - last_success_.load(std::memory_order_relaxed);
  return silence >= absl::ToInt64Nanoseconds(options_.interval);
}

absl::Status ComputeProbe::Try() {
  const std::vector<ModelHandle> models = parts_.models();
  KeepOnly(models);
  std::vector<ModelHandle> failing, others;
  size_t turn = 0;
  {
    MutexLock lock(mutex_);
    for (const ModelHandle& model : models) (failures_.contains(model->id) ? failing : others).push_back(model);
    turn = next_model_++;
  }
  if (models.empty()) {
    (void)Report();
    EndIfLost();
  }
  absl::Status first;
  if (!failing.empty()) first = TryModel(failing[turn % failing.size()]);
  if (others.empty() || (!failing.empty() && !Silent())) return first;
  const size_t chosen = turn % others.size();
  const absl::Status other = TryModel(others[chosen]);
  first.Update(other);
  // After a timeout, the other models are not tried: the timeout is not this model's fault, so their probes would also
  // time out.
  if (other.ok() || absl::IsDeadlineExceeded(other)) return first;
  for (size_t i = 0; i < others.size(); ++i) {
    if (i != chosen) (void)TryModel(others[i]);
  }
  return first;
}

absl::Status ComputeProbe::TryUntilOneComputes() {
  const std::vector<ModelHandle> models = parts_.models();
  KeepOnly(models);
  absl::Status first;
  for (const ModelHandle& model : models) {
    const absl::Status tried = TryModel(model);
    first.Update(tried);
    if (tried.ok() && !Report().stuck) break;
  }
  const ComputeFindings found = Report();
  if (models.empty()) EndIfLost();
  const bool computes = models.empty() || found.failing.size() < models.size();
  return computes && !found.stuck ? absl::OkStatus() : first;
}

ComputeFindings ComputeProbe::Report() {
  ComputeFindings findings;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, failures] : failures_) {
      findings.failing.insert(id);
      findings.stuck = findings.stuck || failures.stuck;
    }
  }
  parts_.report(findings);
  return findings;
}

void ComputeProbe::KeepOnly(const std::vector<ModelHandle>& models) {
  MutexLock lock(mutex_);
  std::erase_if(failures_, [&](const auto& failure) {
    return std::none_of(models.begin(), models.end(),
                        [&](const ModelHandle& model) { return model->id == failure.first; });
  });
}

absl::Status ComputeProbe::TryModel(const ModelHandle& model) {
  const absl::Status status = Run(model);
  if (stopping_.load(std::memory_order_acquire)) return status;
  int failures = 0;
  bool recovered = false;
  {
    MutexLock lock(mutex_);
    if (status.ok()) {
      recovered = failures_.erase(model->id) > 0;
    } else {
      failures = ++failures_[model->id].count;
      failures_[model->id].stuck = absl::IsDeadlineExceeded(status);
    }
  }
  (void)Report();
  if (status.ok()) {
    Succeeded();
    if (recovered) spdlog::info("probe: model \"{}\" version {} computes again", model->id.model, model->id.version);
    return status;
  }
  // The device is checked before anything is logged, because logging may block.
  if (failures >= kFailuresBeforeFatal) EndIfLost();
  spdlog::error("probe: model \"{}\" version {}: {}", model->id.model, model->id.version,
                std::string(status.message()));
  return status;
}

absl::Status ComputeProbe::Run(const ModelHandle& model) {
  ASSIGN_OR_RETURN(InferenceRequest request, PlanRequest(GreyImage(model->id.model), model));
  request.is_probe = true;
  request.caller = "vitrine-probe";
  request.arrival = clock_.Now();
  const auto answer = std::make_shared<Answer<absl::Status>>();
  request.done = [answer](absl::StatusOr<v1::ClassifyResponse> response) { answer->Put(response.status()); };
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  request.cancelled = cancelled;
  parts_.submit(std::move(request));

  if (const std::optional<absl::Status> status = Await(*answer)) return *status;
  cancelled->store(true, std::memory_order_release);
  return absl::DeadlineExceededError(
      absl::StrCat("model \"", model->id.model, "\" has not answered for ", absl::FormatDuration(options_.timeout)));
}

}  // namespace vitrine
