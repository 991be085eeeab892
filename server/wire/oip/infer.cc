// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/identity/identity.h"
#include "server/process/out_of_memory.h"
#include "server/serve/scheduling/caller_quotas.h"
#include "server/wire/oip/infer_answer.h"
#include "server/wire/oip/infer_outline.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/rpc/outline.h"

namespace vitrine {
namespace {

// The answers to the parts of one request, until the last has come. Thread-safe.
class Gathering {
 public:
  // One picture of the request.
  struct Part {
    Gathering* gathering;
    size_t index;
  };

  Gathering(ClassifyService& service, std::vector<OutputWish> outputs, size_t parts)
      : service_(service), outputs_(std::move(outputs)), answers_(parts), left_(parts) {
    held_.requests = static_cast<int>(parts);
    for (size_t i = 0; i < parts; ++i) {
      parts_.push_back({this, i});
      held_.rooms.push_back(std::make_shared<HeldRoom>());
    }
  }

  // Before the first part is taken, since it may throw no more once it has what is to be called.
  void SetDone(InferDone done) { done_ = std::move(done); }
  // The span of the whole; likewise. Pictures are parts of it, and belong to no span but it.
  void SetSpans(std::unique_ptr<RequestTrace> spans) { spans_ = std::move(spans); }
  // What the pictures' spans stand under, where the whole is traced.
  std::optional<TraceContext> trace() const {
    if (spans_ == nullptr) return std::nullopt;
    return TraceContext{Hex(spans_->trace_id), Hex(spans_->span_id), true};
  }
  const Part& part(size_t i) const { return parts_[i]; }
  // Where the room of a part's answer goes. Before the part is taken.
  std::shared_ptr<HeldRoom> room(size_t part) const { return held_.rooms[part]; }
  // Set once a part is refused: the others are of no use then. Not where the client has left, which they know.
  const CancelFlag& abandoned() const { return abandoned_; }

  // Never throws.
  void Take(const Part& part, absl::StatusOr<v1::ClassifyResponse> answer) {
    {
      MutexLock lock(mutex_);
      if (answer.ok()) {
        answers_[part.index] = *std::move(answer);
      } else if (refusal_.ok()) {
        refusal_ = answer.status();
        abandoned_->store(!absl::IsCancelled(refusal_), std::memory_order_release);
      }
      if (--left_ > 0) return;
    }
    Finish();
  }

 private:
  // After the last answer; nobody else touches this any more.
  void Finish() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!refusal_.ok()) {
      service_.EndCall(std::move(spans_), refusal_);
      return done_(refusal_, {.requests = held_.requests});  // the rooms are free again
    }
    // The analysis looks into a lambda by itself.
    auto response = OrOutOfMemory([this, answers = &answers_] { return MakeInferResponse(outputs_, *answers); });
    service_.EndCall(std::move(spans_), response.status());
    done_(std::move(response), std::move(held_));
  }

  ClassifyService& service_;
  const std::vector<OutputWish> outputs_;
  const CancelFlag abandoned_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<Part> parts_;  // constant
  InferDone done_;
  InferHeld held_;                       // constant until Finish
  std::unique_ptr<RequestTrace> spans_;  // likewise

  Mutex mutex_;
  std::vector<v1::ClassifyResponse> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

absl::Status CheckLimit(int64_t held, int64_t limit, const std::string& what) {
  if (held <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the request holds ", held, " ", what, " ", limit, " at a time; send fewer pictures in a request"));
}

absl::Status CheckSize(const ClassifyService& service, const CallContext& call,
                       const std::vector<v1::ClassifyRequest>& parts) {
  BatchSize size{.requests = static_cast<int64_t>(parts.size())};
  for (const v1::ClassifyRequest& part : parts) {
    size.bytes += static_cast<int64_t>(part.has_image() ? part.image().size() : part.tensor().data().size());
  }
  return CheckBatch(size, service.limits(), *call.model->queue_limits, call.caller.quota.get());
}

// What is to be done; `call` gets the version that does it and the deadline. Of a tensor `left_out` bytes are missing.
absl::StatusOr<InferPlan> Prepare(const ClassifyService& service, absl::StatusOr<inference::ModelInferRequest> request,
                                  CallContext& call, int64_t left_out = 0) {
  RETURN_IF_ERROR(request.status());
  RETURN_IF_ERROR(CheckModel(call.caller, request->model_name()));
  ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(*request));
  call.deadline = std::min(call.deadline, service.clock().Now() + timeout);
  ASSIGN_OR_RETURN(const v1::ClassifyRequest envelope, EnvelopeOf(*request));
  if ((call.model = call.foreseen) == nullptr) {
    ASSIGN_OR_RETURN(call.model, service.Find(envelope, call.caller));
  }
  call.is_routed = LeavesTheVersionOpen(envelope);
  ASSIGN_OR_RETURN(InferPlan plan, PlanInfer(*std::move(request), call.model->manifest.config().classes(), left_out));
  RETURN_IF_ERROR(CheckSize(service, call, plan.parts));
  return plan;
}

// ClassifyService::Foresee for a request of one picture, of which `outline` was read.
std::optional<absl::Status> ForeseeInfer(ClassifyService& service, const Outline<inference::ModelInferRequest>& outline,
                                         CallContext& call) {
  const int64_t left_out = outline.is_picture ? 0 : outline.left_out;
  absl::StatusOr<InferPlan> plan = Prepare(service, outline.request, call, left_out);
  // Known from here on, but no part of the call before all of it is read.
  call.foreseen = std::exchange(call.model, nullptr);
  if (!plan.ok() || plan->parts.size() != 1) return std::nullopt;
  return service.Foresee(plan->parts[0], left_out, call);
}

// Of an outline whose refusal was foreseen, the one part that is refused.
absl::StatusOr<InferPlan> Foreseen(const inference::ModelInferRequest& outline, CallContext& call) {
  InferPlan plan;
  ASSIGN_OR_RETURN(plan.parts.emplace_back(), EnvelopeOf(outline));
  call.model = call.foreseen;
  return plan;
}

// The context of one picture of the call, whose only one it may be.
CallContext PartOf(const CallContext& call, const Gathering& gathering, size_t part, bool is_only) {
  const std::optional<TraceContext> whole = gathering.trace();
  return {.caller = call.caller,
          .peer = call.peer,
          .method = call.method,
          .deadline = call.deadline,
          .cancelled = call.cancelled,
          .abandoned = gathering.abandoned(),
          .trace = whole.has_value() ? whole : call.trace,
          .part = is_only ? std::nullopt : std::optional<int>(static_cast<int>(part)),
          .model = call.model,
          .is_routed = call.is_routed,
          .planned = call.planned,
          .refusal = call.refusal,
          .room = gathering.room(part)};
}

// Takes the answer of one part. As small as it is, it needs no memory of its own.
ClassifyService::Done TakerOf(const std::shared_ptr<Gathering>& gathering, size_t part) {
  const std::shared_ptr<const Gathering::Part> taken(gathering, &gathering->part(part));
  return [taken](absl::StatusOr<v1::ClassifyResponse> answer) { taken->gathering->Take(*taken, std::move(answer)); };
}

}  // namespace

absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits& model,
                        const CallerQuota* quota) {
  if (batch.requests == 1) return absl::OkStatus();
  const int64_t pictures = batch.requests, bytes = batch.bytes;
  if (quota != nullptr) {
    const auto burst = static_cast<int64_t>(std::min(BurstOf(*quota), 1e15));
    RETURN_IF_ERROR(CheckLimit(pictures, burst, "pictures, and this caller's quota allows"));
    RETURN_IF_ERROR(CheckLimit(pictures, quota->max_in_flight, "pictures, and this caller's quota allows"));
  }
  RETURN_IF_ERROR(CheckLimit(pictures, server.max_requests, "pictures, and the server holds at most"));
  RETURN_IF_ERROR(CheckLimit(bytes, server.max_bytes, "bytes of pictures, and the server holds at most"));
  RETURN_IF_ERROR(CheckLimit(pictures, model.max_requests, "pictures, and the server holds for this model at most"));
  return CheckLimit(bytes, model.max_bytes, "bytes of pictures, and the server holds for this model at most");
}

absl::StatusOr<inference::ModelInferRequest> ReadInfer(ClassifyService& service, grpc::ByteBuffer& bytes,
                                                       CallContext& call) {
  return ReadOrForesee(service, bytes, call, InferOutlineOf, [&](const Outline<inference::ModelInferRequest>& outline) {
    return ForeseeInfer(service, outline, call);
  });
}

void Infer(ClassifyService& service, absl::StatusOr<inference::ModelInferRequest> request, CallContext call,
           InferDone done) {
  const absl::Time arrival = service.clock().Now();
  const bool is_outline = request.ok() && !call.refusal.ok();
  absl::StatusOr<InferPlan> plan =
      OrOutOfMemory([&] { return is_outline ? Foreseen(*request, call) : Prepare(service, std::move(request), call); });
  std::shared_ptr<Gathering> gathering;
  const absl::Status gathers = OrOutOfMemory([&] {
    if (!plan.ok()) {
      gathering = std::make_shared<Gathering>(service, std::vector<OutputWish>(), 1);
      return absl::OkStatus();
    }
    const size_t pictures = plan->parts.size();
    gathering = std::make_shared<Gathering>(service, std::move(plan->outputs), pictures);
    if (pictures > 1) {
      const std::string& id = plan->parts.front().request_id();
      gathering->SetSpans(service.BeginCall(call, arrival, id, static_cast<int>(pictures)));
    }
    return absl::OkStatus();
  });
  if (!gathers.ok()) {
    service.ledger().Accept();
    return done(gathers, {.requests = 1});
  }
  gathering->SetDone(std::move(done));
  // Counted and logged as every other refusal.
  if (!plan.ok()) return service.Classify(plan.status(), std::move(call), TakerOf(gathering, 0));
  for (size_t part = 0; part < plan->parts.size(); ++part) {
    CallContext context;
    context.method = call.method;
    if (plan->parts.size() > 1) context.part = static_cast<int>(part);  // whatever else there is no memory for
    absl::StatusOr<v1::ClassifyRequest> picture = OrOutOfMemory([&]() -> absl::StatusOr<v1::ClassifyRequest> {
      context = PartOf(call, *gathering, part, plan->parts.size() == 1);
      return std::move(plan->parts[part]);
    });
    service.Classify(std::move(picture), std::move(context), TakerOf(gathering, part));
  }
}

}  // namespace vitrine
