// SPDX-License-Identifier: Apache-2.0
// Gives answers and errors to the requests of a batch, and logs the batch.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/repository/manifest.h"
#include "server/observe/log.h"
#include "server/process/shed.h"
#include "server/serve/execution/batch_run.h"

namespace vitrine {
namespace {

// Returns the error of a batch for which the device has no memory.
absl::Status DeviceOutOfMemory() {
  return ShedError(ShedReason::kMemory, "the device has no memory left for this batch", absl::Seconds(1));
}

// Converts a duration to seconds, in the type of v1::Timings.
float ToSeconds(absl::Duration duration) {
  return static_cast<float>(absl::ToDoubleSeconds(duration));
}

}  // namespace

int64_t BatchRun::FirstClass(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::vector<size_t> BatchRun::AnswerOrder() const {
  std::vector<size_t> order(items_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return items_[a].request->overlay_pixels < items_[b].request->overlay_pixels;
  });
  return order;
}

absl::StatusOr<v1::ClassifyResponse> BatchRun::Answer(int i) {
  Item& item = items_[i];
  const InferenceRequest& request = *item.request;
  // Cancellation and deadline are checked again before drawing, because drawing can take long.
  if (request.IsCancelled()) return absl::CancelledError("the client cancelled the request");
  if (request.deadline <= context_.clock.Now()) {
    return absl::DeadlineExceededError("the deadline passed before the answer was made");
  }
  const std::span<const float> row = logits_[i];
  InferenceOutput output;
  output.logits.assign(row.begin(), row.end());
  if (!std::all_of(output.logits.begin(), output.logits.end(), [](float v) { return std::isfinite(v); })) {
    spdlog::error("batch {}: {} version {} returned a logit that is not finite", id_, model_->id.model,
                  model_->id.version);
    return absl::InternalError("the model returned a number that is not finite for this image");
  }
  output.attention = std::move(item.attention);
  output.features = std::move(item.features);
  const Sureness sureness = SurenessOf(output.logits, TemperatureOf(model_->manifest));
  const bool has_classes = model_->manifest.config().classes() > 0;
  if (request.is_routed && has_classes) {
    std::optional<bool> unsure;
    if (model_->manifest.has_calibration()) {
      unsure = sureness.confidence < model_->manifest.calibration().unsure_below();
    }
    model_->answered->Add(FirstClass(output.logits), sureness.confidence, unsure);
  }
  output.timings.set_queue(ToSeconds(start_ - request.arrival));
  output.timings.set_decode(ToSeconds(*item.decode));
  output.timings.set_compute(ToSeconds(compute_));
  output.batch = info_;
  output.image = std::move(item.input.image);

  const absl::Time begin = context_.clock.Now();
  absl::StatusOr<v1::ClassifyResponse> response = context_.responder(request, std::move(output));
  const absl::Time end = context_.clock.Now();
  item.encode = end - begin;
  Note(item, Stage::kEncode, begin, end);
  // The cost of a failed answer is not observed: such an answer may have drawn only some of its overlays.
  if (!response.ok()) return response;
  response->mutable_timings()->set_encode(ToSeconds(end - begin));
  model_->cost->ObserveEncode(request.overlay_pixels, end - begin);
  if (!request.is_probe && has_classes) model_->version_metrics->CountSureness(sureness);
  return response;
}

void BatchRun::Finish(Item& item, absl::StatusOr<v1::ClassifyResponse> answer) const {
  CountStages(item, answer.ok());
  const std::unique_ptr<InferenceRequest> request = std::move(item.request);
  request->Finish(std::move(answer));
}

void BatchRun::CountStages(const Item& item, bool answered) const {
  if (item.request->is_probe) return;
  const auto count = [&](Stage stage, absl::Duration spent) {
    if (answered) {
      metrics_.CountAnswered(stage, spent);
    } else {
      metrics_.CountUnanswered(stage, spent);
    }
  };
  count(Stage::kQueue, start_ - item.request->arrival);
  if (item.decode.has_value()) count(Stage::kDecode, *item.decode);
  if (item.encode.has_value()) count(Stage::kEncode, *item.encode);
}

void BatchRun::FailRest(const absl::Status& answer) {
  if (computing_since_.has_value()) {
    const absl::Time now = context_.clock.Now();
    NoteCompute(*computing_since_, now);
    metrics_.CountUnanswered(Stage::kCompute, now - *computing_since_);
  }
  for (Item& item : items_) {
    if (item.request != nullptr) Finish(item, answer);
  }
}

absl::Status BatchRun::AnswerTo(const absl::Status& error) const {
  if (absl::IsResourceExhausted(error)) return DeviceOutOfMemory();
  absl::Status fault = Fault(error.message());
  // UNAVAILABLE makes clients send the requests to another server.
  if (absl::IsUnavailable(error))
    return absl::UnavailableError("the device of this server is lost, and the server ends");
  return fault;
}

absl::Status BatchRun::Fault(absl::string_view why) const {
  vitrine::Log(LogLevel::kError, "batch failed",
               {{"batch", static_cast<int64_t>(id_)},
                {"model", model_->id.model},
                {"version", model_->id.version},
                {"reason", std::string(why)}});
  return absl::InternalError(absl::StrCat("the server failed to compute batch ", id_,
                                          "; its log has the cause, and other batches are not affected"));
}

void BatchRun::Log() const {
  const auto level = context_.log_batches ? spdlog::level::info : spdlog::level::debug;
  if (!spdlog::should_log(level)) return;
  std::map<std::pair<int, int>, int> images_of_grid;
  for (const Item& item : items_) ++images_of_grid[{item.grid.rows, item.grid.columns}];
  std::string grids;
  for (const auto& [grid, images] : images_of_grid) {
    absl::StrAppend(&grids, grids.empty() ? "" : ", ", images, " of ", grid.first, "x", grid.second);
  }
  vitrine::Log(context_.log_batches ? LogLevel::kInfo : LogLevel::kDebug, "batch",
               {{"batch", static_cast<int64_t>(id_)},
                {"model", model_->id.model},
                {"version", model_->id.version},
                {"images", int64_t{info_.images()}},
                {"tokens", int64_t{info_.tokens()}},
                {"grids", int64_t{info_.grids()}},
                {"images_of_grids", grids},
                {"compute_ms", absl::ToDoubleMilliseconds(compute_)}});
}

}  // namespace vitrine
