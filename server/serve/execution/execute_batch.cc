// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/execute_batch.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "models/attention_maps.h"
#include "models/engine/backend.h"
#include "models/repository/manifest.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/process/shed.h"
#include "server/serve/execution/image_input.h"

namespace vitrine {
namespace {

// One request of a batch while the executor processes it.
struct Item {
  std::unique_ptr<InferenceRequest> request;  // null after the answer
  Grid grid;
  ImageInput input;
  std::optional<absl::Duration> decode;  // set once decoding was tried
  std::optional<absl::Duration> encode;  // set once encoding was tried
};

// Returns the error of a batch for which the device has no memory.
absl::Status DeviceOutOfMemory() {
  return ShedError(ShedReason::kMemory, "the device has no memory left for this batch", absl::Seconds(1));
}

// Converts to the type of the messages' timings.
float ToSeconds(absl::Duration duration) {
  return static_cast<float>(absl::ToDoubleSeconds(duration));
}

int64_t FirstClass(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

// Processes one batch, from the requests' inputs (encoded images or tensors) to the answers.
class BatchRun {
 public:
  // Takes the requests of `batch`. `batch` must outlive this object, because the executor counts as busy until `batch`
  // is destroyed.
  BatchRun(Batch& batch, const BatchContext& context)
      : id_(batch.id),
        model_(batch.requests.front()->model),
        context_(context),
        metrics_(*model_->metrics),
        start_(context.clock.Now()) {
    items_.reserve(batch.requests.size());
    for (auto& request : batch.requests) {
      const Grid grid = request->grid;
      items_.push_back({std::move(request), grid, {}, {}, {}});
    }
  }

  void Run() {
    try {
      Decode();
      Sort();
      if (items_.empty()) return;
      if (absl::Status computed = Compute(); !computed.ok()) return FailRest(AnswerTo(computed));
      // A tensor that is used in place cannot be computed again, because its bytes are freed when it is answered.
      const auto routed = std::find_if(items_.begin(), items_.end(),
                                       [](const Item& item) { return IsRouted(item) && !item.input.values.empty(); });
      for (const size_t i : AnswerOrder()) {
        Finish(items_[i], Answer(static_cast<int>(i)));
      }
      Log();
      if (routed != items_.end()) ComputePaired(static_cast<size_t>(routed - items_.begin()));
    } catch (const std::exception& error) {
      FailRest(Fault(error.what()));
    }
  }

 private:
  // Items that the model computes in one run. The requested attention and tokens refer to the items by their index in
  // the part.
  struct Part {
    size_t first = 0;  // index of the first item
    AttentionTap attention;
    TokenTap tokens;
  };

  // Decodes the images. Ends requests whose image is damaged. Ends cancelled or expired requests before each decoding,
  // and again after all decoding, which can take long.
  void Decode() {
    for (Item& item : items_) {
      const absl::Time begin = context_.clock.Now();
      Note(item, Stage::kQueue, item.request->arrival, start_);
      if (EndIfUnwanted(item)) continue;
      absl::StatusOr<ImageInput> decoded = ReadInput(*item.request, id_);
      const absl::Duration spent = context_.clock.Now() - begin;
      item.decode = spent;
      Note(item, Stage::kDecode, begin, begin + spent);
      if (!decoded.ok()) {
        Finish(item, decoded.status());
        continue;
      }
      item.input = *std::move(decoded);
      model_->cost->ObserveDecode(item.request->InputPixels(), spent);
    }
    for (Item& item : items_) {
      if (item.request != nullptr) EndIfUnwanted(item);
    }
    std::erase_if(items_, [](const Item& item) { return item.request == nullptr; });
  }

  // Ends a cancelled or expired request; returns true if it did.
  bool EndIfUnwanted(Item& item) const {
    if (item.request->IsCancelled()) {
      Finish(item, absl::CancelledError("the client cancelled the request; nothing was computed"));
    } else if (item.request->deadline <= context_.clock.Now()) {
      Finish(item, absl::DeadlineExceededError("the deadline passed before the model ran; nothing was computed"));
    }
    return item.request == nullptr;
  }

  // Records a stage if the request is traced.
  static void Note(const Item& item, Stage stage, absl::Time begin, absl::Time end) {
    if (RequestTrace* const trace = item.request->trace) trace->Note(stage, begin, end);
  }
  // Records the compute stage of every item. Call it once the model has run or failed, before any item is answered.
  void NoteCompute(absl::Time begin, absl::Time end) const {
    for (const Item& item : items_) {
      Note(item, Stage::kCompute, begin, end);
      if (RequestTrace* const trace = item.request->trace) {
        trace->batch = {.id = id_, .images = info_.images(), .tokens = info_.tokens()};
      }
    }
  }

  // Sorts items with features to the end, since the model computes additional tokens for them. Items of equal grids
  // become neighbours, because they share grid-dependent work.
  void Sort() {
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tuple(!a.request->features.empty(), a.grid.rows, a.grid.columns) <
             std::tuple(!b.request->features.empty(), b.grid.rows, b.grid.columns);
    });
  }

  // Checks that the decoded input has the planned size. A mismatch is a fault of the server and would cause reads out
  // of bounds.
  absl::Status CheckFits(const Item& item) const {
    const engine::ImagePlanes& pixels = item.input.pixels;
    const ModelDescription& model = *model_->description;
    if (pixels.channels == model.config().preprocessing().channels()) {
      const absl::StatusOr<Grid> grid = model.GridFor(pixels.height, pixels.width);
      if (grid.ok() && *grid == item.grid) return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("an input of [", pixels.channels, ", ", pixels.height, ", ", pixels.width,
                                            "] does not have the planned shape"));
  }

  // Computes the items in [first, last). Either all of them have features, or none has.
  absl::Status ComputePart(size_t first, size_t last) {
    if (first == last) return absl::OkStatus();
    Part& part = parts_.emplace_back();
    part.first = first;
    std::vector<engine::ImagePlanes> inputs;
    for (size_t i = first; i < last; ++i) {
      const InferenceRequest& request = *items_[i].request;
      RETURN_IF_ERROR(CheckFits(items_[i]));
      inputs.push_back(items_[i].input.pixels);
      for (const auto& requested : request.attention) {
        RequestAttention(requested, model_->attention, static_cast<int>(i - first), part.attention);
      }
      for (const v1::FeatureRequest& requested : request.features) part.tokens.Request(StageOf(requested.kind()));
    }
    return model_->backend->Run(
        inputs, context_.workspace, logits_.values.data() + first * static_cast<size_t>(logits_.shape[1]),
        part.attention.empty() ? nullptr : &part.attention, part.tokens.wanted().empty() ? nullptr : &part.tokens);
  }

  static bool IsRouted(const Item& item) { return item.request->is_routed; }

  // At intervals, also computes an image of a canary with the stable version, after every request of the batch is
  // answered.
  void ComputePaired(size_t i) const {
    if (model_->description->config().classes() == 0) return;  // there are only vectors, which are not compared
    const ModelHandle other = model_->paired->Due(context_.clock.Now());
    if (other == nullptr) return;
    const absl::Time begin = context_.clock.Now();
    std::vector<float> logits(static_cast<size_t>(other->description->outputs()));
    const absl::Status computed =
        other->backend->Run({&items_[i].input.pixels, 1}, context_.workspace, logits.data(), nullptr, nullptr);
    if (!computed.ok()) return;
    const bool is_sure = SurenessOf(logits, TemperatureOf(other->manifest)).confidence >= PairedAnswers::kSure;
    const absl::Time end = context_.clock.Now();
    model_->paired->Add(is_sure, FirstClass(logits) == FirstClass(logits_[static_cast<int64_t>(i)]), end - begin, end);
  }

  const Part& PartOf(size_t i) const { return parts_.size() > 1 && i >= parts_[1].first ? parts_[1] : parts_[0]; }

  absl::Status Compute() {
    std::set<std::pair<int, int>> grids;
    int64_t tokens = 0;
    size_t without_features = 0;
    for (const Item& item : items_) {
      tokens += item.request->tokens;
      grids.insert({item.grid.rows, item.grid.columns});
      without_features += item.request->features.empty();
    }
    info_.set_images(static_cast<int>(items_.size()));
    info_.set_tokens(static_cast<int>(tokens));
    info_.set_grids(static_cast<int>(grids.size()));
    info_.set_id(id_);

    const absl::Time begin = context_.clock.Now();
    computing_since_ = begin;
    const int64_t images = items_.size(), classes = model_->description->outputs();
    logits_ = {.shape = {images, classes}, .values = std::vector<float>(static_cast<size_t>(images * classes))};
    int members = 1;
    bool all_stayed = true;
    {
      const std::optional<Helpers> helpers = SendToTeam(tokens);
      if (helpers.has_value()) members = helpers->members();
      RETURN_IF_ERROR(ComputePart(0, without_features));
      RETURN_IF_ERROR(ComputePart(without_features, items_.size()));
      all_stayed = !helpers.has_value() || helpers->members() == members;
    }
    compute_ = context_.clock.Now() - begin;
    NoteCompute(begin, begin + compute_);
    // Observes the cost only without helpers. Under load, when predictions matter, there are no helpers, and the time
    // that helpers wait for each other would distort the cost.
    if (members == 1 && context_.has_core) {
      model_->cost->ObserveCompute(tokens, compute_);
    } else if (members > 1 && all_stayed) {
      context_.help->Note(compute_, model_->cost->PredictBatch(tokens));
    }
    // Counts only routed images: images sent to a named version may be of another kind.
    if (context_.has_core && all_stayed && std::all_of(items_.begin(), items_.end(), IsRouted)) {
      model_->computed->Add(images, members * compute_);
    }
    computing_since_.reset();
    for (const Item& item : items_) item.request->progress = Progress::kCompute;
    metrics_.CountAnswered(Stage::kCompute, compute_);
    metrics_.CountBatch(images, tokens, info_.grids());
    return absl::OkStatus();
  }

  // Lets idle executors help to compute this batch if the gain is worth waking them.
  std::optional<Helpers> SendToTeam(int64_t tokens) const {
    if (context_.scheduler == nullptr || context_.most_helpers == 0 || !context_.help->IsWorthwhile())
      return std::nullopt;
    int64_t largest = 0;
    bool is_urgent = false;
    for (const Item& item : items_) {
      const InferenceRequest& request = *item.request;
      if (!request.attention.empty() || !request.features.empty()) return std::nullopt;  // recorded by one thread
      largest = std::max(largest, request.tokens);
      is_urgent |= request.request.priority() != v1::LOW;
    }
    // A batch of LOW requests leaves the other cores free for new requests.
    if (!is_urgent) return std::nullopt;
    const int64_t worth = HelpersWorth(model_->cost->PredictBatch(tokens), tokens, largest);
    return std::make_optional<Helpers>(context_.workspace, *context_.scheduler,
                                       std::min<int64_t>(context_.most_helpers, worth));
  }

  // Returns the items' indices by increasing overlay pixels: drawing one overlay takes longer than all other answers.
  std::vector<size_t> AnswerOrder() const {
    std::vector<size_t> order(items_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return items_[a].request->overlay_pixels < items_[b].request->overlay_pixels;
    });
    return order;
  }

  absl::StatusOr<v1::ClassifyResponse> Answer(int i) {
    Item& item = items_[i];
    const InferenceRequest& request = *item.request;
    // Cancellation and deadline are checked before drawing, which can take long.
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
    const Part& part = PartOf(static_cast<size_t>(i));
    const int place = i - static_cast<int>(part.first);
    for (const auto& requested : request.attention) {
      output.attention.push_back(CollectAttention(requested, model_->attention, part.attention, place, request.grid));
    }
    for (const auto& requested : request.features) {
      output.features.push_back(CollectFeature(requested, part.tokens, place, model_->features.registers));
    }
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
    // The cost of a failed answer is not observed: it may have drawn only some of its overlays.
    if (!response.ok()) return response;
    response->mutable_timings()->set_encode(ToSeconds(end - begin));
    model_->cost->ObserveEncode(request.overlay_pixels, end - begin);
    if (!request.is_probe && has_classes) model_->version_metrics->CountSureness(sureness);
    return response;
  }

  void Finish(Item& item, absl::StatusOr<v1::ClassifyResponse> answer) const {
    CountStages(item, answer.ok());
    const std::unique_ptr<InferenceRequest> request = std::move(item.request);
    request->Finish(std::move(answer));
  }

  // Also counts the stages of failed requests: if all requests are late, nothing else shows the reason.
  void CountStages(const Item& item, bool answered) const {
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

  void FailRest(const absl::Status& answer) {
    if (computing_since_.has_value()) {
      const absl::Time now = context_.clock.Now();
      NoteCompute(*computing_since_, now);
      metrics_.CountUnanswered(Stage::kCompute, now - *computing_since_);
    }
    for (Item& item : items_) {
      if (item.request != nullptr) Finish(item, answer);
    }
  }

  // Returns the answer to the requests of a batch that could not be computed.
  absl::Status AnswerTo(const absl::Status& error) const {
    if (absl::IsResourceExhausted(error)) return DeviceOutOfMemory();
    absl::Status fault = Fault(error.message());
    // UNAVAILABLE makes clients send the requests to another server.
    if (absl::IsUnavailable(error))
      return absl::UnavailableError("the device of this server is lost, and the server ends");
    return fault;
  }

  absl::Status Fault(absl::string_view why) const {
    vitrine::Log(LogLevel::kError, "batch failed",
                 {{"batch", static_cast<int64_t>(id_)},
                  {"model", model_->id.model},
                  {"version", model_->id.version},
                  {"reason", std::string(why)}});
    return absl::InternalError(absl::StrCat("the server failed to compute batch ", id_,
                                            "; its log has the cause, and other batches are not affected"));
  }

  void Log() const {
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

  const uint64_t id_;
  const ModelHandle model_;
  const BatchContext& context_;
  ModelMetrics& metrics_;
  const absl::Time start_;

  std::vector<Item> items_;
  std::vector<Part> parts_;                    // one or two
  FloatArray logits_;                          // [images, classes]
  std::optional<absl::Time> computing_since_;  // set while the model runs
  absl::Duration compute_;
  v1::BatchInfo info_;
};

}  // namespace

void ExecuteBatch(Batch batch, const BatchContext& context) {
  if (!batch.requests.empty()) BatchRun(batch, context).Run();
}

}  // namespace vitrine
