// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/classify_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "server/identity/identity.h"
#include "server/process/out_of_memory.h"
#include "server/serve/request/plan_request.h"

namespace vitrine {
namespace {

// Of an answer beside attention and features, about: predictions with their labels, provenance, timings.
constexpr int64_t kPlainAnswerBytes = 1024;

std::optional<int64_t> VersionOf(const v1::ClassifyRequest& request) {
  return request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
}

// The sooner of the call's deadline and the request's own limit, which counts from `now`.
absl::Time DeadlineOf(const v1::ClassifyRequest& request, const CallContext& call, absl::Time now) {
  return request.has_time_limit() ? std::min(call.deadline, now + absl::Seconds(request.time_limit())) : call.deadline;
}

// Nothing that reads what callers send throws, and fuzzing holds it to that. Should something all the same, it costs
// this request and not the server.
absl::StatusOr<InferenceRequest> Plan(v1::ClassifyRequest request, ModelHandle model, int64_t left_out = 0) {
  try {
    return PlanRequest(std::move(request), std::move(model), left_out);
  } catch (const std::bad_alloc&) {  // its callers know what to do
    throw;
  } catch (const std::exception& error) {
    spdlog::error("a request could not be read: {}", error.what());
    return absl::InternalError("the server failed while it read the request");
  }
}

}  // namespace

struct ClassifyService::Asked {
  Method method = Method::kClassify;
  absl::Time arrival;
  std::string caller, peer, model, request_id;  // the model as it was named
  std::optional<TraceContext> trace;
  std::unique_ptr<RequestTrace> spans;   // null: it is not traced
  ModelMetrics* metrics = nullptr;       // of the model as soon as it is known; till then of unknown ones
  const LoadedModel* version = nullptr;  // that took it, and that it keeps, with its metrics; null: none did
  Done done;
};

bool LeavesTheVersionOpen(const v1::ClassifyRequest& request) {
  return !request.has_version() && request.version_label().empty();
}

absl::StatusOr<ModelHandle> ClassifyService::Find(const v1::ClassifyRequest& request, const Caller& caller) const {
  return registry_.Route(request.model(), {.version = VersionOf(request),
                                           .label = request.version_label(),
                                           .request_id = request.request_id(),
                                           .visible = caller.models.get()});
}

// Each line is a stage that can refuse.
absl::StatusOr<InferenceRequest> ClassifyService::Accept(absl::StatusOr<v1::ClassifyRequest> request,
                                                         const CallContext& call, Asked& asked) {
  if (draining_.load(std::memory_order_acquire)) return DrainingError();
  // Before the quota, of which it takes nothing.
  if (call.abandoned != nullptr && call.abandoned->load(std::memory_order_acquire)) {
    asked.metrics = call.model->metrics.get();
    return AbandonedError();
  }
  Admitted admitted;
  ASSIGN_OR_RETURN(admitted.quota, admission_.quotas().Admit(call.caller));
  ModelHandle model = call.model;
  if (model == nullptr) {
    RETURN_IF_ERROR(request.status());
    RETURN_IF_ERROR(CheckModel(call.caller, request->model()));
    if ((model = call.foreseen) == nullptr) {
      ASSIGN_OR_RETURN(model, Find(*request, call.caller));
    }
  }
  asked.metrics = model->metrics.get();
  RETURN_IF_ERROR(request.status());
  // Before the picture's header is read. Admit looks again: others come meanwhile.
  if (absl::Status places = admission_.CheckPlaces(call.caller.Account()); !places.ok()) {
    admitted.Cancel();
    return places;
  }
  if (!call.refusal.ok()) {
    admitted.Cancel();
    admission_.NoteAsked(call.caller.Account());
    return call.refusal;
  }
  const bool is_routed = call.model == nullptr ? LeavesTheVersionOpen(*request) : call.is_routed;
  ASSIGN_OR_RETURN(InferenceRequest plan, Plan(*std::move(request), std::move(model)));
  plan.is_routed = is_routed;
  plan.arrival = asked.arrival;
  plan.caller = call.caller.Account();
  plan.deadline = DeadlineOf(plan.request, call, asked.arrival);
  plan.cancelled = call.cancelled;
  plan.abandoned = call.abandoned;
  plan.admitted = std::move(admitted);
  if (absl::Status places = Admit(plan); !places.ok()) {
    plan.admitted.Cancel();
    return places;
  }
  return plan;
}

std::optional<absl::Status> ClassifyService::Foresee(v1::ClassifyRequest& outline, int64_t left_out,
                                                     CallContext& call) {
  if (call.foreseen == nullptr) call.foreseen = call.model;
  if (call.foreseen == nullptr) {
    absl::StatusOr<ModelHandle> model = Find(outline, call.caller);
    if (!model.ok()) return std::nullopt;
    call.foreseen = *std::move(model);
  }
  absl::StatusOr<InferenceRequest> plan = Plan(std::move(outline), call.foreseen, left_out);
  if (!plan.ok()) return std::nullopt;
  call.caller.account = accounts_.AccountOf(call.caller, call.peer);
  plan->caller = call.caller.account;
  plan->deadline = DeadlineOf(plan->request, call, clock_.Now());
  absl::Status foreseen = admission_.Foresee(*plan);
  if (!foreseen.ok()) outline = std::move(plan->request);
  return foreseen;
}

absl::Status ClassifyService::Admit(InferenceRequest& plan) {
  ASSIGN_OR_RETURN(plan.admitted.room, admission_.answers().Reserve(kPlainAnswerBytes + plan.answer_bytes));
  ASSIGN_OR_RETURN(plan.admitted.place, admission_.Admit(plan));
  return absl::OkStatus();
}

void ClassifyService::Count(Asked& asked, const absl::Status& status, absl::Duration spent) {
  asked.metrics->requests().Count(asked.method, status, spent);
  if (asked.version != nullptr) asked.version->version_metrics->requests().Count(asked.method, status, spent);
  if (log_.Wants(status.code(), spent)) WriteLine(asked, status, spent);
  if (asked.spans != nullptr) EndSpans(asked, status, spent);
}

void ClassifyService::WriteLine(const Asked& asked, const absl::Status& status, absl::Duration spent) {
  try {
    // The line belongs to the span of the request where there is one, else to the caller's.
    std::optional<TraceContext> trace = asked.trace;
    if (asked.spans != nullptr) trace = TraceContext{Hex(asked.spans->trace_id), Hex(asked.spans->span_id), true};
    log_.Write({.method = MethodName(asked.method),
                .caller = asked.caller,
                .peer = asked.peer,
                .model = asked.model,
                .version = asked.version == nullptr ? 0 : asked.version->id.version,
                .request_id = asked.request_id,
                .trace = std::move(trace),
                .status = status,
                .spent = spent});
  } catch (const std::bad_alloc&) {  // the answer goes before the line
    CountOutOfMemory();
  }
}

void ClassifyService::EndSpans(Asked& asked, const absl::Status& status, absl::Duration spent) {
  RequestTrace& spans = *asked.spans;
  const absl::Time end = spans.whole.begin + spent;
  spans.model = std::move(asked.model);
  spans.request_id = std::move(asked.request_id);
  if (asked.version != nullptr) {
    spans.version = asked.version->id.version;
    spans.precision = asked.version->precision;  // a few letters, which take no memory of their own
    // It was given up while it waited.
    if (!spans.stages[static_cast<int>(Stage::kQueue)].has_value()) spans.Note(Stage::kQueue, spans.whole.begin, end);
  }
  tracer_->End(std::move(asked.spans), status, end);
}

std::unique_ptr<RequestTrace> ClassifyService::BeginCall(const CallContext& call, absl::Time arrival,
                                                         const std::string& request_id, int pictures) {
  std::unique_ptr<RequestTrace> spans;
  if (tracer_ != nullptr) spans = tracer_->Begin(call.trace, call.method, arrival);
  if (spans == nullptr) return nullptr;
  spans->pictures = pictures;
  spans->request_id = request_id;
  spans->model = call.model->id.model;
  spans->version = call.model->id.version;
  spans->precision = call.model->precision;
  return spans;
}

void ClassifyService::EndCall(std::unique_ptr<RequestTrace> spans, const absl::Status& status) {
  if (spans != nullptr) tracer_->End(std::move(spans), status, clock_.Now());
}

void ClassifyService::Classify(absl::StatusOr<v1::ClassifyRequest> request, CallContext call, Done done) {
  ledger_.Accept();
  Asked asked;
  asked.method = call.method;
  asked.arrival = clock_.Now();
  asked.peer = std::move(call.peer);
  asked.metrics = &metrics_.unknown();
  std::unique_ptr<Asked> waiting;
  absl::StatusOr<InferenceRequest> plan = OrOutOfMemory([&] {
    if (call.caller.account.empty()) call.caller.account = accounts_.AccountOf(call.caller, asked.peer);
    asked.caller = call.caller.name;
    asked.trace = std::move(call.trace);
    if (request.ok()) asked.model = request->model();
    if (request.ok()) asked.request_id = request->request_id();
    if (tracer_ != nullptr) {
      asked.spans = call.part.has_value() ? tracer_->BeginPart(asked.trace, asked.method, asked.arrival, *call.part)
                                          : tracer_->Begin(asked.trace, asked.method, asked.arrival);
    }
    waiting = std::make_unique<Asked>();
    return Accept(std::move(request), call, asked);
  });
  if (!plan.ok()) {
    if (absl::IsDeadlineExceeded(plan.status())) asked.metrics->CountExpired(Progress::kAdmission);
    Count(asked, plan.status(), clock_.Now() - asked.arrival);
    return done(std::move(plan).status());
  }
  if (call.planned) call.planned(plan->answer_bytes);
  if (call.room != nullptr) *call.room = std::move(plan->admitted.room);
  if (asked.spans != nullptr) {
    asked.spans->tokens = plan->tokens;
    plan->trace = asked.spans.get();
  }
  asked.version = plan->model.get();
  asked.done = std::move(done);
  *waiting = std::move(asked);
  plan->done = [this, waiting = std::move(waiting)](absl::StatusOr<v1::ClassifyResponse> answer) {
    Answer(*waiting, std::move(answer));
  };
  scheduler_.Submit(*std::move(plan));
}

void ClassifyService::Answer(Asked& asked, absl::StatusOr<v1::ClassifyResponse> answer) {
  const absl::Duration spent = clock_.Now() - asked.arrival;
  Count(asked, answer.status(), spent);
  if (answer.ok()) answer->mutable_timings()->set_total(static_cast<float>(absl::ToDoubleSeconds(spent)));
  asked.done(std::move(answer));
}

}  // namespace vitrine
