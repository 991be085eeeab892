// SPDX-License-Identifier: Apache-2.0
#include "tests/server/serve/scheduling/simulated_server.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine::testing {
namespace {

// Returns the batch options of a server on a CPU, as in server/resolve.h.
BatchOptions BatchesOf(const SimulatedServer::Options& options) {
  BatchOptions batch = options.batch;
  batch.executors = options.admission.executors;
  return batch;
}

AdmissionOptions InParts(AdmissionOptions options) {
  options.in_parts = true;
  return options;
}

}  // namespace

SimulatedServer::SimulatedServer(const Options& options)
    : options_(options),
      random_(options.seed),
      admission_(InParts(options.admission), clock_),
      scheduler_(BatchesOf(options), clock_, /*sweep=*/false),
      executors_(static_cast<size_t>(options.admission.executors)) {
  EXPECT_EQ(options.batch.max_wait, absl::ZeroDuration()) << "with a wait, an executor would wait for another thread";
  Every([] { return Scheduler::kSweepPeriod; }, [this] { scheduler_.Sweep(); });
}

int SimulatedServer::AddModel(const SimulatedCost& cost, int64_t tokens) {
  auto model = std::make_shared<LoadedModel>();
  model->id.model = absl::StrCat("model ", models_.size());
  model->cost->ObserveCompute(tokens, (cost.pass + cost.token * tokens));
  model->cost->ObserveEncode(1, cost.overlay_pixel);
  costs_[model.get()] = cost;
  models_.push_back(std::move(model));
  return static_cast<int>(models_.size()) - 1;
}

void SimulatedServer::At(absl::Time time, std::function<void()> event) {
  events_.push({time, next_event_++, std::move(event)});
}

void SimulatedServer::Every(std::function<absl::Duration()> gap, std::function<void()> event) {
  At(Now(), [this, gap = std::move(gap), event = std::move(event)] { Repeat(gap, event); });
}

void SimulatedServer::Repeat(const std::function<absl::Duration()>& gap, const std::function<void()>& event) {
  event();
  At(Now() + gap(), [this, gap, event] { Repeat(gap, event); });
}

void SimulatedServer::RunUntil(absl::Time end) {
  while (!events_.empty() && events_.top().time <= end) {
    const Event event = events_.top();
    events_.pop();
    clock_.Advance(event.time - Now());
    event.run();
    StartIdle();
  }
}

// Adds the time for receiving a request to the busy time of one executor. The executors take turns.
void SimulatedServer::Read() {
  Executor& executor = executors_[reads_next_++ % executors_.size()];
  if (executor.running.has_value()) {
    executor.owed += options_.reading;
  } else {
    executor.free = std::max(executor.free, Now()) + options_.reading;
  }
}

void SimulatedServer::Arrive(const SimulatedRequest& what, std::function<void(const absl::Status& status)> ended) {
  Read();
  InferenceRequest request;
  request.model = models_.at(static_cast<size_t>(what.model));
  request.caller = what.caller;
  request.tokens = what.tokens;
  request.geometry.original = {.height = 1, .width = what.pixels};
  request.overlay_pixels = what.overlay_pixels;
  request.arrival = Now();
  request.deadline = what.deadline;
  request.request.set_priority(what.priority);
  request.input = "x";
  absl::StatusOr<HeldPlace> ticket = admission_.Admit(request);
  if (!ticket.ok() && !options_.admits_all) return ended(ticket.status());
  if (ticket.ok()) request.admitted = std::make_shared<Admitted>(Admitted{.place = *std::move(ticket)});
  waiting_.insert(request.deadline);
  request.done = [this, deadline = what.deadline,
                  ended = std::move(ended)](absl::StatusOr<v1::ClassifyResponse> answer) {
    if (absl::IsUnavailable(answer.status())) return;  // the server is being destroyed
    if (!answer.ok()) LeavesQueue(deadline);
    const bool is_late = answer.ok() && deadline <= Now();
    ended(is_late ? absl::DeadlineExceededError("the deadline passed before the answer was made") : answer.status());
  };
  scheduler_.Submit(std::move(request));
}

// Calls NextBatch only while a live request waits, because NextBatch would block otherwise.
void SimulatedServer::StartIdle() {
  for (Executor& executor : executors_) {
    if (executor.running.has_value()) continue;
    if (waiting_.empty() || *waiting_.rbegin() <= Now()) return;
    Start(executor, *scheduler_.NextBatch());
  }
}

double SimulatedServer::Jitter() {
  return std::uniform_real_distribution<double>(1 - options_.jitter, 1 + options_.jitter)(random_);
}

void SimulatedServer::Start(Executor& executor, Batch batch) {
  const SimulatedCost& cost = costs_.at(batch.requests.front()->model.get());
  absl::Duration compute = cost.pass, rest;
  for (const auto& request : batch.requests) {
    LeavesQueue(request->deadline);
    compute += cost.token * request->tokens;
    rest += cost.image + cost.overlay_pixel * request->overlay_pixels;
  }
  compute *= Jitter();
  const absl::Time start = std::max(executor.free, Now());
  At(start + compute + rest, [this, &executor] { End(executor); });
  executor.running = Running{.batch = std::move(batch), .start = start, .compute = compute, .rest = rest};
}

void SimulatedServer::End(Executor& executor) {
  if (executor.owed > absl::ZeroDuration()) {
    return At(Now() + std::exchange(executor.owed, {}), [this, &executor] { End(executor); });
  }
  const Running ended = *std::exchange(executor.running, std::nullopt);
  Observe(ended);
  for (const auto& request : ended.batch.requests) request->Finish(v1::ClassifyResponse());
}

// Observes elapsed times, like ExecuteBatch. These times include the time that the executor's core spent on receiving
// requests.
void SimulatedServer::Observe(const Running& ended) const {
  const double stretched = absl::FDivDuration(Now() - ended.start, ended.compute + ended.rest);
  const ModelHandle& model = ended.batch.requests.front()->model;
  const SimulatedCost& cost = costs_.at(model.get());
  int64_t tokens = 0;
  for (const auto& request : ended.batch.requests) {
    tokens += request->tokens;
    model->cost->ObserveDecode(request->InputPixels(), cost.image * stretched);
    model->cost->ObserveEncode(request->overlay_pixels, cost.overlay_pixel * request->overlay_pixels * stretched);
  }
  model->cost->ObserveCompute(tokens, ended.compute * stretched);
}

}  // namespace vitrine::testing
