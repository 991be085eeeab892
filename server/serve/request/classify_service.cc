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

// Approximate bytes of an answer without predictions, attention and features: provenance and timings.
constexpr int64_t kPlainAnswerBytes = 1024;
// Bytes of a v1::Prediction without its label.
constexpr int64_t kPredictionBytes = 16;

std::optional<int64_t> VersionOf(const v1::ClassifyRequest& request) {
  return request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
}

// Returns the earlier of the call's deadline and the request's time limit, which starts at `now`.
absl::Time DeadlineOf(const v1::ClassifyRequest& request, const CallContext& call, absl::Time now) {
  return request.has_time_limit() ? std::min(call.deadline, now + absl::Seconds(request.time_limit())) : call.deadline;
}

// The parsing code does not throw, which fuzzing checks. If it throws nevertheless, only this request fails.
absl::StatusOr<InferenceRequest> Plan(ReceivedClassify request, ModelHandle model) {
  try {
    return PlanRequest(std::move(request), std::move(model));
  } catch (const std::exception& error) {
    spdlog::error("a request could not be read: {}", error.what());
    return absl::InternalError("the server failed while it read the request");
  }
}

}  // namespace

struct ClassifyService::Asked {
  CallContext call;
  absl::Time arrival;
  std::string model, request_id;        // `model`: name sent by the client
  std::unique_ptr<RequestTrace> spans;  // null: not traced
  ModelMetrics* metrics = nullptr;      // metrics of unknown models until the model is known
  // version that the request was submitted to, which the request keeps alive; null: none
  const LoadedModel* version = nullptr;
  std::shared_ptr<AnswerResources> held;  // set if the caller gave no AnswerResources
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
absl::StatusOr<InferenceRequest> ClassifyService::Accept(absl::StatusOr<ReceivedClassify> request, Asked& asked) {
  const CallContext& call = asked.call;
  if (draining_.load(std::memory_order_acquire)) return DrainingError();
  // This check comes before the quota, so that an abandoned request uses no quota.
  const CancelFlag abandoned = call.part.has_value() ? call.part->abandoned : nullptr;
  if (abandoned != nullptr && abandoned->load(std::memory_order_acquire)) {
    asked.metrics = call.version->model->metrics.get();
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
  asked.metrics = model->metrics.get();
  RETURN_IF_ERROR(request.status());
  // This check comes before the image's header is read. Admit checks again, since other requests may arrive in between.
  if (absl::Status places = admission_.CheckRequestLimit(call.caller.Account()); !places.ok()) {
    admitted->Cancel();
    return places;
  }
  const bool is_routed = call.version.has_value() ? call.version->is_routed : NamesNoVersion(request->message);
  ASSIGN_OR_RETURN(InferenceRequest plan, Plan(*std::move(request), std::move(model)));
  plan.is_routed = is_routed;
  plan.arrival = asked.arrival;
  plan.caller = call.caller.Account();
  plan.deadline = DeadlineOf(plan.request, call, asked.arrival);
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
  // With overlays, the size is known only after they are drawn, so MakeResponse checks it.
  plan.most_message_bytes = form.most_message_bytes;
  const int64_t message_bytes = kPlainAnswerBytes + form.images * (predictions + plan.answer_bytes);
  if (plan.overlay_pixels == 0) RETURN_IF_ERROR(CheckMessageBytes(message_bytes, form.most_message_bytes));
  ASSIGN_OR_RETURN(plan.admitted->room,
                   admission_.answers().Reserve(kPlainAnswerBytes + form.scale * (predictions + plan.answer_bytes)));
  ASSIGN_OR_RETURN(plan.admitted->place, admission_.Admit(plan));
  return absl::OkStatus();
}

void ClassifyService::Count(Asked& asked, const absl::Status& status, absl::Duration spent) {
  asked.metrics->requests().Count(asked.call.method, status, spent);
  if (asked.version != nullptr) asked.version->version_metrics->requests().Count(asked.call.method, status, spent);
  if (log_.Wants(status.code(), spent)) WriteLine(asked, status, spent);
  if (asked.spans != nullptr) EndSpans(asked, status, spent);
}

void ClassifyService::CountAuthorization(RpcName rpc, const absl::StatusOr<Caller>& caller, const std::string& peer) {
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
              .status = caller.status()});
}

void ClassifyService::WriteLine(const Asked& asked, const absl::Status& status, absl::Duration spent) {
  // The line has the trace context of the request's own span if there is one, otherwise the client's.
  std::optional<TraceContext> trace = asked.call.trace;
  if (asked.spans != nullptr) trace = TraceContext{Hex(asked.spans->trace_id), Hex(asked.spans->span_id), true};
  log_.Write({.method = MethodName(asked.call.method),
              .caller = asked.call.caller.name,
              .peer = asked.call.peer,
              .model = asked.model,
              .version = asked.version == nullptr ? 0 : asked.version->id.version,
              .request_id = asked.request_id,
              .trace = std::move(trace),
              .status = status,
              .spent = spent});
}

void ClassifyService::EndSpans(Asked& asked, const absl::Status& status, absl::Duration spent) {
  RequestTrace& spans = *asked.spans;
  const absl::Time end = spans.whole.begin + spent;
  spans.model = std::move(asked.model);
  spans.request_id = std::move(asked.request_id);
  if (asked.version != nullptr) {
    spans.version = asked.version->id.version;
    spans.precision = asked.version->precision;
    // The request ended while it waited, so this is the end of its queue stage.
    if (!spans.stages[static_cast<int>(Stage::kQueue)].has_value()) spans.Note(Stage::kQueue, spans.whole.begin, end);
  }
  tracer_->End(std::move(asked.spans), status, end);
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
  auto asked = std::make_unique<Asked>();
  asked->call = std::move(context);
  CallContext& call = asked->call;
  if (call.held == nullptr) call.held = asked->held = std::make_shared<AnswerResources>(ledger_);
  call.held->Accept();
  asked->arrival = clock_.Now();
  asked->metrics = &metrics_.unknown();
  if (call.caller.account.empty()) call.caller.account = accounts_.AccountOf(call.caller, call.peer);
  if (request.ok()) asked->model = request->message.model();
  if (request.ok()) asked->request_id = request->message.request_id();
  if (tracer_ != nullptr) {
    asked->spans = call.part.has_value() ? tracer_->BeginPart(call.trace, call.method, asked->arrival, call.part->index)
                                         : tracer_->Begin(call.trace, call.method, asked->arrival);
  }
  absl::StatusOr<InferenceRequest> plan = Accept(std::move(request), *asked);
  if (!plan.ok()) {
    if (absl::IsDeadlineExceeded(plan.status())) asked->metrics->CountExpired(Progress::kAdmission);
    Count(*asked, plan.status(), clock_.Now() - asked->arrival);
    call.held = nullptr;  // from here on the sender of the answer decides when the resources are released
    return done(std::move(plan).status());
  }
  if (call.planned) std::exchange(call.planned, nullptr)(plan->admitted->room->bytes);
  std::exchange(call.held, nullptr)->Keep(plan->admitted);
  if (asked->spans != nullptr) {
    asked->spans->tokens = plan->tokens;
    plan->trace = asked->spans.get();
  }
  asked->version = plan->model.get();
  asked->done = std::move(done);
  plan->done = [this, asked = std::move(asked)](absl::StatusOr<v1::ClassifyResponse> answer) {
    Answer(*asked, std::move(answer));
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
