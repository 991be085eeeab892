// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/classify_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "server/identity/identity.h"
#include "server/serve/request/plan_request.h"

namespace vitrine {
namespace {

// Approximate bytes of the provenance and timings in an answer.
constexpr int64_t kPlainAnswerBytes = 1024;
// Bytes of a v1::Prediction, not including its label.
constexpr int64_t kPredictionBytes = 16;

std::optional<int64_t> VersionOf(const v1::ClassifyRequest& request) {
  return request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
}

// Returns the earlier of the call's deadline and the request's time limit, which starts at `now`.
absl::Time DeadlineOf(const v1::ClassifyRequest& request, const CallContext& call, absl::Time now) {
  return request.has_time_limit() ? std::min(call.deadline, now + absl::Seconds(request.time_limit())) : call.deadline;
}

// PlanRequest should not throw, which is checked by fuzzing. If it throws nevertheless, only this request fails.
absl::StatusOr<InferenceRequest> Plan(ReceivedClassify request, ModelHandle model) {
  try {
    return PlanRequest(std::move(request), std::move(model));
  } catch (const std::exception& error) {
    spdlog::error("a request could not be read: {}", error.what());
    return absl::InternalError("the server failed while it read the request");
  }
}

}  // namespace

struct ClassifyService::Pending {
  CallContext call;
  absl::Time arrival;
  std::string model;                    // model name that the client sent
  std::unique_ptr<RequestTrace> spans;  // null: not traced
  ModelMetrics* metrics = nullptr;      // metrics of unknown models until the model is known
  // version to which the request was submitted; null: none. The request keeps the version in memory.
  const LoadedModel* version = nullptr;
  std::shared_ptr<AnswerResources> held;  // resources of this request if the caller gave no AnswerResources
  Done done;
};

bool NamesNoVersion(const v1::ClassifyRequest& request) {
  return !request.has_version() && request.version_label().empty();
}

absl::StatusOr<ModelHandle> ClassifyService::Find(const v1::ClassifyRequest& request, const Caller& caller) const {
  return registry_.Route(request.model(), {.version = VersionOf(request),
                                           .label = request.version_label(),
                                           .request_id = request.request_id(),
                                           .visible = caller.models.get()});
}

// Returns the admitted request, or the error of the first stage that rejects it.
absl::StatusOr<InferenceRequest> ClassifyService::Accept(absl::StatusOr<ReceivedClassify> request, Pending& pending) {
  const CallContext& call = pending.call;
  if (draining_.load(std::memory_order_acquire)) return DrainingError();
  // Abandoned requests are rejected before the quota is checked, so that they use no quota.
  const CancelFlag abandoned = call.part.has_value() ? call.part->abandoned : nullptr;
  if (abandoned != nullptr && abandoned->load(std::memory_order_acquire)) {
    pending.metrics = call.version->model->metrics.get();
    return AbandonedError();
  }
  const auto admitted = std::make_shared<Admitted>();
  ASSIGN_OR_RETURN(admitted->quota, admission_.quotas().Admit(call.caller));
  ModelHandle model = call.version.has_value() ? call.version->model : nullptr;
  if (model == nullptr) {
    RETURN_IF_ERROR(request.status());
    RETURN_IF_ERROR(CheckModel(call.caller, request->message.model()));
    ASSIGN_OR_RETURN(model, Find(request->message, call.caller));
  }
  pending.metrics = model->metrics.get();
  RETURN_IF_ERROR(request.status());
  // The limit on requests is checked before the image's header is read. Admit checks it again, because other requests
  // may arrive in between.
  if (absl::Status places = admission_.CheckRequestLimit(call.caller.Account()); !places.ok()) {
    admitted->Cancel();
    return places;
  }
  const bool is_routed = call.version.has_value() ? call.version->is_routed : NamesNoVersion(request->message);
  ASSIGN_OR_RETURN(InferenceRequest plan, Plan(*std::move(request), std::move(model)));
  plan.is_routed = is_routed;
  plan.arrival = pending.arrival;
  plan.caller = call.caller.Account();
  plan.deadline = DeadlineOf(plan.request, call, pending.arrival);
  plan.cancelled = call.cancelled;
  plan.abandoned = abandoned;
  if (call.part.has_value()) {
    plan.is_first_of_call = call.part->index == 0;
    plan.images_behind = call.part->images - 1 - call.part->index;
  }
  plan.admitted = admitted;
  if (absl::Status places = Admit(plan, call.form); !places.ok()) {
    admitted->Cancel();
    return places;
  }
  return plan;
}

absl::Status ClassifyService::Admit(InferenceRequest& plan, const AnswerForm& form) {
  const int64_t predictions =
      form.prediction_bytes.value_or(plan.top_k * (kPredictionBytes + static_cast<int64_t>(plan.model->longest_label)));
  // The size of overlays is known only after they are drawn, so MakeResponse checks the size of an answer with
  // overlays.
  plan.most_message_bytes = form.most_message_bytes;
  const int64_t message_bytes = kPlainAnswerBytes + form.images * (predictions + plan.answer_bytes);
  if (plan.overlay_pixels == 0) RETURN_IF_ERROR(CheckMessageBytes(message_bytes, form.most_message_bytes));
  ASSIGN_OR_RETURN(plan.admitted->room,
                   admission_.answers().Reserve(kPlainAnswerBytes + form.scale * (predictions + plan.answer_bytes)));
  ASSIGN_OR_RETURN(plan.admitted->place, admission_.Admit(plan));
  return absl::OkStatus();
}

void ClassifyService::Count(Pending& pending, const absl::Status& status, absl::Duration spent) {
  pending.metrics->requests().Count(pending.call.method, status, spent);
  if (pending.version != nullptr)
    pending.version->version_metrics->requests().Count(pending.call.method, status, spent);
  if (log_.Wants(status.code(), spent)) WriteLine(pending, status, spent);
  if (pending.spans != nullptr) EndSpans(pending, status, spent);
}

void ClassifyService::CountAuthorization(RpcName rpc, const absl::StatusOr<Caller>& caller, const std::string& peer,
                                         const std::string& request_id) {
  const absl::StatusCode code = caller.status().code();
  metrics_.server().CountAuthorization(code);
  constexpr RpcName kClassify = "/vitrine.v1.Classifier/Classify",
                    kInfer = "/inference.GRPCInferenceService/ModelInfer";
  if (caller.ok() || rpc.index() == kClassify.index() || rpc.index() == kInfer.index()) return;
  if (!log_.Wants(code, absl::ZeroDuration())) return;
  const std::string_view method = rpc.method();
  log_.Write({.method = method.substr(method.rfind('/') + 1),
              .caller = CallerOf(caller).name,
              .peer = peer,
              .request_id = request_id,
              .status = caller.status()});
}

void ClassifyService::WriteLine(const Pending& pending, const absl::Status& status, absl::Duration spent) {
  // The log line contains the trace context of the request's own span if there is one, otherwise the client's trace
  // context.
  std::optional<TraceContext> trace = pending.call.trace;
  if (pending.spans != nullptr) trace = TraceContext{Hex(pending.spans->trace_id), Hex(pending.spans->span_id), true};
  log_.Write({.method = MethodName(pending.call.method),
              .caller = pending.call.caller.name,
              .peer = pending.call.peer,
              .model = pending.model,
              .version = pending.version == nullptr ? 0 : pending.version->id.version,
              .request_id = pending.call.request_id,
              .trace = std::move(trace),
              .status = status,
              .spent = spent});
}

void ClassifyService::EndSpans(Pending& pending, const absl::Status& status, absl::Duration spent) {
  RequestTrace& spans = *pending.spans;
  const absl::Time end = spans.whole.begin + spent;
  spans.model = std::move(pending.model);
  spans.request_id = std::move(pending.call.request_id);
  if (pending.version != nullptr) {
    spans.version = pending.version->id.version;
    spans.precision = pending.version->precision;
    // A request without a queue stage ended while it waited, so this stage ends now.
    if (!spans.stages[static_cast<int>(Stage::kQueue)].has_value()) spans.Note(Stage::kQueue, spans.whole.begin, end);
  }
  tracer_->End(std::move(pending.spans), status, end);
}

std::unique_ptr<RequestTrace> ClassifyService::BeginCall(const CallContext& call, absl::Time arrival,
                                                         const std::string& request_id, int images) {
  std::unique_ptr<RequestTrace> spans;
  if (tracer_ != nullptr) spans = tracer_->Begin(call.trace, call.method, arrival);
  if (spans == nullptr) return nullptr;
  spans->image_count = images;
  spans->request_id = request_id;
  spans->model = call.version->model->id.model;
  spans->version = call.version->model->id.version;
  spans->precision = call.version->model->precision;
  return spans;
}

void ClassifyService::EndCall(std::unique_ptr<RequestTrace> spans, const absl::Status& status) {
  if (spans != nullptr) tracer_->End(std::move(spans), status, clock_.Now());
}

void ClassifyService::Classify(absl::StatusOr<ReceivedClassify> request, CallContext context, Done done) {
  auto pending = std::make_unique<Pending>();
  pending->call = std::move(context);
  CallContext& call = pending->call;
  if (call.held == nullptr) call.held = pending->held = std::make_shared<AnswerResources>(ledger_);
  call.held->Accept();
  pending->arrival = clock_.Now();
  pending->metrics = &metrics_.unknown();
  if (call.caller.account.empty()) call.caller.account = accounts_.AccountOf(call.caller, call.peer);
  if (request.ok()) pending->model = request->message.model();
  if (request.ok() && !request->message.request_id().empty()) call.request_id = request->message.request_id();
  if (tracer_ != nullptr) {
    pending->spans = call.part.has_value()
                         ? tracer_->BeginPart(call.trace, call.method, pending->arrival, call.part->index)
                         : tracer_->Begin(call.trace, call.method, pending->arrival);
  }
  absl::StatusOr<InferenceRequest> plan = Accept(std::move(request), *pending);
  if (!plan.ok()) {
    if (absl::IsDeadlineExceeded(plan.status())) pending->metrics->CountExpired(Progress::kAdmission);
    Count(*pending, plan.status(), clock_.Now() - pending->arrival);
    call.held = nullptr;  // from here on, the sender of the answer decides when the resources are released
    return done(std::move(plan).status());
  }
  if (call.planned) std::exchange(call.planned, nullptr)(plan->admitted->room->bytes);
  std::exchange(call.held, nullptr)->Keep(plan->admitted);
  if (pending->spans != nullptr) {
    pending->spans->tokens = plan->tokens;
    plan->trace = pending->spans.get();
  }
  pending->version = plan->model.get();
  pending->done = std::move(done);
  plan->done = [this, pending = std::move(pending)](absl::StatusOr<v1::ClassifyResponse> answer) {
    Answer(*pending, std::move(answer));
  };
  scheduler_.Submit(*std::move(plan));
}

void ClassifyService::Answer(Pending& pending, absl::StatusOr<v1::ClassifyResponse> answer) {
  const absl::Duration spent = clock_.Now() - pending.arrival;
  Count(pending, answer.status(), spent);
  if (answer.ok()) answer->mutable_timings()->set_total(static_cast<float>(absl::ToDoubleSeconds(spent)));
  pending.done(std::move(answer));
}

}  // namespace vitrine
