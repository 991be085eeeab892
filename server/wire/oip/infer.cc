// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "server/identity/identity.h"
#include "server/serve/scheduling/caller_quotas.h"
#include "server/wire/oip/infer_answer.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/tensor_view.h"

namespace vitrine {
namespace {

// Collects the answers to the images of one request. Thread-safe.
class Gathering {
 public:
  // One image of the request.
  struct Part {
    Gathering* gathering;
    size_t index;
  };

  // `name`: the model name in the request.
  Gathering(ClassifyService& service, std::string name, std::vector<RequestedOutput> outputs, size_t parts)
      : service_(service), name_(std::move(name)), outputs_(std::move(outputs)), answers_(parts), left_(parts) {
    for (size_t i = 0; i < parts; ++i) parts_.push_back({this, i});
  }

  // Sets the callback. Call before the first Take.
  void SetDone(InferDone done) { done_ = std::move(done); }
  // Creates resources that are held until the whole request is answered.
  std::shared_ptr<AnswerResources> Hold() { return held_ = std::make_shared<AnswerResources>(service_.ledger()); }
  // Sets the span of the whole request, the parent of the images' spans. Call before the first Take.
  void SetSpans(std::unique_ptr<RequestTrace> spans) { spans_ = std::move(spans); }
  // Returns the parent of the images' spans if the request is traced.
  std::optional<TraceContext> trace() const {
    if (spans_ == nullptr) return std::nullopt;
    return TraceContext{Hex(spans_->trace_id), Hex(spans_->span_id), true};
  }
  const Part& part(size_t i) const { return parts_[i]; }
  int images() const { return static_cast<int>(parts_.size()); }
  // Returns the flag that is set when an image is rejected, so that the other images are dropped. When the client
  // leaves, CallContext::cancelled is set instead.
  const CancelFlag& abandoned() const { return abandoned_; }

  void Take(const Part& part, absl::StatusOr<v1::ClassifyResponse> answer) {
    {
      MutexLock lock(mutex_);
      if (answer.ok()) {
        answers_[part.index] = *std::move(answer);
      } else if (refusal_.ok()) {
        refusal_ = OfPart(part.index, answer.status());
        abandoned_->store(!absl::IsCancelled(refusal_), std::memory_order_release);
      }
      if (--left_ > 0) return;
    }
    Finish();
  }

 private:
  // Adds the index of the faulty image to the error, because the error answers the whole request.
  absl::Status OfPart(size_t index, absl::Status status) const {
    if (parts_.size() == 1 || !absl::IsInvalidArgument(status)) return status;
    absl::Status named(status.code(), absl::StrCat("in element ", index, " ", std::string(status.message())));
    status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
    return named;
  }

  // Runs after the last answer, when no other thread uses this object.
  void Finish() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    auto response = refusal_.ok() ? MakeInferResponse(outputs_, answers_) : refusal_;
    if (response.ok()) response->set_model_name(name_);
    answers_.clear();
    service_.EndCall(std::move(spans_), response.status());
    done_(std::move(response));
  }

  ClassifyService& service_;
  const std::string name_;
  const std::vector<RequestedOutput> outputs_;
  const CancelFlag abandoned_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<Part> parts_;  // one entry per image; the number of entries is constant
  InferDone done_;
  std::shared_ptr<AnswerResources> held_;  // resources of the request; null if CallContext::held was set
  std::unique_ptr<RequestTrace> spans_;    // constant until Finish

  Mutex mutex_;
  std::vector<v1::ClassifyResponse> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

absl::Status CheckLimit(int64_t held, int64_t limit, const std::string& what) {
  if (held <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the request has ", held, " ", what, " ", limit, " at a time; send fewer images per request"));
}

absl::Status CheckSize(const ClassifyService& service, const CallContext& call,
                       const std::vector<ReceivedClassify>& parts) {
  BatchSize size{.requests = static_cast<int64_t>(parts.size())};
  for (const ReceivedClassify& part : parts) size.bytes += static_cast<int64_t>(part.input.size());
  return CheckBatch(size, service.limits(), *call.version->model->queue_limits, call.caller.quota.get());
}

// Plans the request. Sets the version, the deadline and the size of the answer in `call`.
absl::StatusOr<InferPlan> Prepare(const ClassifyService& service, absl::StatusOr<ReceivedInfer> request,
                                  CallContext& call) {
  RETURN_IF_ERROR(request.status());
  inference::ModelInferRequest& message = request->message;
  ASSIGN_OR_RETURN(ModelName named, ReadModelName(message.model_name()));
  message.set_model_name(std::move(named.model));
  RETURN_IF_ERROR(CheckModel(call.caller, message.model_name()));
  ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(message));
  call.deadline = std::min(call.deadline, service.clock().Now() + timeout);
  ASSIGN_OR_RETURN(const v1::ClassifyRequest envelope, EnvelopeOf(message));
  ASSIGN_OR_RETURN(const ModelHandle loaded, service.Find(envelope, call.caller));
  call.version = {.model = loaded, .is_routed = NamesNoVersion(envelope)};
  const v1::ModelConfig& config = loaded->manifest.config();
  std::optional<TensorView> view;
  if (named.view.has_value()) view.emplace(TensorView{.scale = *named.view, .preprocessing = config.preprocessing()});
  const PlannedModel model = {.classes = config.classes(),
                              .attention = &loaded->attention,
                              .features = loaded->features,
                              .view = view.has_value() ? &*view : nullptr};
  ASSIGN_OR_RETURN(InferPlan plan, PlanInfer(*std::move(request), model));
  call.form.prediction_bytes = OutputBytes(plan.outputs, model.classes, loaded->longest_label);
  call.form.images = static_cast<int>(plan.parts.size());
  RETURN_IF_ERROR(CheckSize(service, call, plan.parts));
  return plan;
}

// Returns the context of one image of a multi-image call.
CallContext PartOf(CallContext call, const Gathering& gathering, size_t part) {
  if (std::optional<TraceContext> whole = gathering.trace(); whole.has_value()) call.trace = std::move(whole);
  call.part = {.index = static_cast<int>(part), .images = gathering.images(), .abandoned = gathering.abandoned()};
  return call;
}

// Returns the callback for the answer of one image.
ClassifyService::Done CallbackFor(const std::shared_ptr<Gathering>& gathering, size_t part) {
  const std::shared_ptr<const Gathering::Part> taken(gathering, &gathering->part(part));
  return [taken](absl::StatusOr<v1::ClassifyResponse> answer) { taken->gathering->Take(*taken, std::move(answer)); };
}

}  // namespace

absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits& model,
                        const CallerQuota* quota) {
  if (batch.requests == 1) return absl::OkStatus();
  const int64_t images = batch.requests, bytes = batch.bytes;
  if (quota != nullptr) {
    const auto burst = static_cast<int64_t>(std::min(BurstOf(*quota), 1e15));
    RETURN_IF_ERROR(CheckLimit(images, burst, "images, and this caller's quota allows"));
    RETURN_IF_ERROR(CheckLimit(images, quota->max_in_flight, "images, and this caller's quota allows"));
  }
  RETURN_IF_ERROR(CheckLimit(images, server.max_requests, "images, but the server accepts at most"));
  RETURN_IF_ERROR(CheckLimit(bytes, server.max_bytes, "bytes of images, but the server accepts at most"));
  RETURN_IF_ERROR(CheckLimit(images, model.max_requests, "images, but the server accepts for this model at most"));
  return CheckLimit(bytes, model.max_bytes, "bytes of images, but the server accepts for this model at most");
}

void Infer(ClassifyService& service, absl::StatusOr<ReceivedInfer> request, CallContext call, InferDone done) {
  const absl::Time arrival = service.clock().Now();
  std::string name = request.ok() ? request->message.model_name() : "";
  if (request.ok() && !request->message.id().empty()) call.request_id = request->message.id();
  absl::StatusOr<InferPlan> plan = Prepare(service, std::move(request), call);
  if (!plan.ok()) {  // passes the error to the service, which counts and logs the rejection
    return service.Classify(plan.status(), std::move(call),
                            [done = std::move(done)](const absl::StatusOr<v1::ClassifyResponse>& refusal) mutable {
                              done(refusal.status());
                            });
  }
  const size_t images = plan->parts.size();
  const auto gathering = std::make_shared<Gathering>(service, std::move(name), std::move(plan->outputs), images);
  gathering->SetDone(std::move(done));
  if (images > 1) {
    const std::string& id = plan->parts.front().message.request_id();
    gathering->SetSpans(service.BeginCall(call, arrival, id, static_cast<int>(images)));
  }
  if (call.held == nullptr) call.held = gathering->Hold();
  if (images == 1) return service.Classify(std::move(plan->parts[0]), std::move(call), CallbackFor(gathering, 0));
  for (size_t part = 0; part < images; ++part) {
    CallContext context = PartOf(call, *gathering, part);
    if (part + 1 == images) call.held = nullptr;  // from here on, only the contexts of the images own the resources
    service.Classify(std::move(plan->parts[part]), std::move(context), CallbackFor(gathering, part));
  }
}

}  // namespace vitrine
