#include "server/classify_service.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "server/plan_request.h"

namespace vitrine {
namespace {

std::optional<int64_t> VersionOf(const v1::ClassifyRequest& request) {
  return request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt;
}

void LogAnswer(const absl::StatusOr<v1::ClassifyResponse>& answer) {
  if (!spdlog::should_log(spdlog::level::debug)) return;
  if (!answer.ok()) {
    spdlog::debug("refused code={} reason=\"{}\"", absl::StatusCodeToString(answer.status().code()),
                  std::string(answer.status().message()));
    return;
  }
  spdlog::debug("answered model={} version={} request_id=\"{}\" grid={}x{} batch={} images={} total_ms={:.2f}",
                answer->served_by().model(), answer->served_by().version(), answer->request_id(), answer->grid().rows(),
                answer->grid().columns(), answer->batch().id(), answer->batch().images(),
                answer->timings().total() * 1e3);
}

}  // namespace

absl::Status DrainingError() {
  return absl::UnavailableError("the server is draining; another replica will answer");
}

// Each line is a stage that can refuse. `metrics` becomes the model's as soon as the model is known.
absl::StatusOr<InferenceRequest> ClassifyService::Accept(absl::StatusOr<v1::ClassifyRequest> request,
                                                         const Caller& caller, ModelMetrics*& metrics) {
  const absl::Time arrival = clock_.Now();
  if (draining_.load(std::memory_order_acquire)) return DrainingError();
  RETURN_IF_ERROR(request.status());
  ASSIGN_OR_RETURN(ModelHandle model, registry_.Find(request->model(), VersionOf(*request)));
  if (model->metrics != nullptr) metrics = model->metrics.get();
  ASSIGN_OR_RETURN(InferenceRequest plan, PlanRequest(*std::move(request), std::move(model)));
  plan.arrival = arrival;
  plan.deadline = caller.deadline;
  plan.cancelled = caller.cancelled;
  ASSIGN_OR_RETURN(plan.ticket, admission_.Admit(plan));
  return plan;
}

void ClassifyService::Classify(absl::StatusOr<v1::ClassifyRequest> request, Caller caller, Done done) {
  ledger_.Accept();
  ModelMetrics* metrics = &metrics_.unknown();
  absl::StatusOr<InferenceRequest> plan = Accept(std::move(request), caller, metrics);
  if (!plan.ok()) {
    metrics->CountRequest(caller.method, plan.status().code());
    absl::StatusOr<v1::ClassifyResponse> refusal = std::move(plan).status();
    LogAnswer(refusal);
    return done(std::move(refusal));
  }
  if (caller.planned) caller.planned(plan->answer_bytes);
  // The request outlives this call of done, and keeps its model and so `metrics`.
  plan->done = [this, metrics, method = caller.method, arrival = plan->arrival,
                done = std::move(done)](absl::StatusOr<v1::ClassifyResponse> answer) mutable {
    metrics->CountRequest(method, answer.status().code());
    if (answer.ok()) {
      answer->mutable_timings()->set_total(static_cast<float>(absl::ToDoubleSeconds(clock_.Now() - arrival)));
    }
    LogAnswer(answer);
    done(std::move(answer));
  };
  scheduler_.Submit(*std::move(plan));
}

}  // namespace vitrine
