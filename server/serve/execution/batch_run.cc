// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/batch_run.h"

#include <algorithm>
#include <exception>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/attention_tap.h"
#include "models/engine/backend.h"
#include "models/repository/manifest.h"
#include "models/token_tap.h"

namespace vitrine {

BatchRun::BatchRun(Batch& batch, const BatchContext& context)
    : id_(batch.id),
      model_(batch.requests.front()->model),
      context_(context),
      metrics_(*model_->metrics),
      start_(context.clock.Now()) {
  items_.reserve(batch.requests.size());
  for (auto& request : batch.requests) {
    const Grid grid = request->grid;
    items_.push_back({std::move(request), grid, {}, {}, {}, {}, {}});
  }
}

void BatchRun::Run() {
  try {
    Decode();
    Sort();
    if (items_.empty()) return;
    if (absl::Status computed = Compute(); !computed.ok()) return FailRest(AnswerTo(computed));
    // Chooses the image for ComputePaired. A tensor that is used in place cannot be chosen, because its bytes are freed
    // when its request is answered.
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

void BatchRun::Decode() {
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

bool BatchRun::EndIfUnwanted(Item& item) const {
  if (item.request->IsCancelled()) {
    Finish(item, absl::CancelledError("the client cancelled the request; nothing was computed"));
  } else if (item.request->deadline <= context_.clock.Now()) {
    Finish(item, absl::DeadlineExceededError("the deadline passed before the model ran; nothing was computed"));
  }
  return item.request == nullptr;
}

void BatchRun::Note(const Item& item, Stage stage, absl::Time begin, absl::Time end) {
  if (RequestTrace* const trace = item.request->trace) trace->Note(stage, begin, end);
}

void BatchRun::NoteCompute(absl::Time begin, absl::Time end) const {
  for (const Item& item : items_) {
    Note(item, Stage::kCompute, begin, end);
    if (RequestTrace* const trace = item.request->trace) {
      trace->batch = {.id = id_, .images = info_.images(), .tokens = info_.tokens()};
    }
  }
}

void BatchRun::Sort() {
  std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    return std::tuple(!a.request->features.empty(), a.grid.rows, a.grid.columns) <
           std::tuple(!b.request->features.empty(), b.grid.rows, b.grid.columns);
  });
}

absl::Status BatchRun::CheckFits(const Item& item) const {
  const engine::ImagePlanes& pixels = item.input.pixels;
  const ModelDescription& model = *model_->description;
  if (pixels.channels == model.config().preprocessing().channels()) {
    const absl::StatusOr<Grid> grid = model.GridFor(pixels.height, pixels.width);
    if (grid.ok() && *grid == item.grid) return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("an input of [", pixels.channels, ", ", pixels.height, ", ", pixels.width,
                                          "] does not have the planned shape"));
}

absl::Status BatchRun::ComputePart(size_t first, size_t last) {
  while (first < last) {
    const size_t end = EndOfRun(first, last);
    RETURN_IF_ERROR(ComputeRun(first, end));
    first = end;
  }
  return absl::OkStatus();
}

size_t BatchRun::EndOfRun(size_t first, size_t last) const {
  int64_t bytes = 0;
  for (size_t i = first; i < last; ++i) {
    bytes += MatrixBytes(items_[i].request->attention, model_->attention, items_[i].grid);
    if (i > first && bytes > context_.max_matrix_bytes) return i;
  }
  return last;
}

absl::Status BatchRun::ComputeRun(size_t first, size_t last) {
  AttentionTap attention;
  TokenTap tokens;
  std::vector<engine::ImagePlanes> inputs;
  for (size_t i = first; i < last; ++i) {
    const InferenceRequest& request = *items_[i].request;
    RETURN_IF_ERROR(CheckFits(items_[i]));
    inputs.push_back(items_[i].input.pixels);
    for (const auto& requested : request.attention) {
      RequestAttention(requested, model_->attention, static_cast<int>(i - first), attention);
    }
    for (const v1::FeatureRequest& requested : request.features) tokens.Request(StageOf(requested.kind()));
  }
  RETURN_IF_ERROR(model_->backend->Run(
      inputs, context_.workspace, logits_.values.data() + first * static_cast<size_t>(logits_.shape[1]),
      attention.empty() ? nullptr : &attention, tokens.wanted().empty() ? nullptr : &tokens));
  const absl::Time begin = context_.clock.Now();
  for (size_t i = first; i < last; ++i) {
    Item& item = items_[i];
    if (item.request->IsCancelled() || item.request->deadline <= begin) continue;  // Answer rejects it
    const auto place = static_cast<int>(i - first);
    for (const auto& requested : item.request->attention) {
      item.attention.push_back(CollectAttention(requested, model_->attention, attention, place, item.grid));
    }
    for (const auto& requested : item.request->features) {
      item.features.push_back(CollectFeature(requested, tokens, place, model_->features.registers));
    }
  }
  collect_ += context_.clock.Now() - begin;
  return absl::OkStatus();
}

void BatchRun::ComputePaired(size_t i) const {
  if (model_->description->config().classes() == 0) return;  // the model has only vectors, which are not compared
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

absl::Status BatchRun::Compute() {
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
  const absl::Time end = context_.clock.Now();
  compute_ = end - begin - collect_;
  NoteCompute(begin, end);
  // Observes the cost only of batches without helpers, because helpers wait for each other, which would distort the
  // cost. The predictions from these costs matter only under load, when no executor is idle and can help.
  if (members == 1 && context_.has_core) {
    model_->cost->ObserveCompute(tokens, compute_);
  } else if (members > 1 && all_stayed) {
    context_.help->Note(compute_, model_->cost->PredictBatch(tokens));
  }
  // Counts only batches whose images were all routed by the server: images that clients send to a named version may
  // differ from the usual images.
  if (context_.has_core && all_stayed && std::all_of(items_.begin(), items_.end(), IsRouted)) {
    model_->computed->Add(images, members * compute_);
  }
  computing_since_.reset();
  for (const Item& item : items_) item.request->progress = Progress::kCompute;
  metrics_.CountAnswered(Stage::kCompute, compute_);
  metrics_.CountBatch(images, tokens, info_.grids());
  return absl::OkStatus();
}

std::optional<Helpers> BatchRun::SendToTeam(int64_t tokens) const {
  if (context_.scheduler == nullptr || context_.most_helpers == 0 || !context_.help->IsWorthwhile())
    return std::nullopt;
  int64_t largest = 0;
  bool is_urgent = false;
  for (const Item& item : items_) {
    const InferenceRequest& request = *item.request;
    // Attention and features must be recorded by a single thread.
    if (!request.attention.empty() || !request.features.empty()) return std::nullopt;
    largest = std::max(largest, request.tokens);
    is_urgent |= request.request.priority() != v1::LOW;
  }
  // A batch in which all requests have priority LOW uses no helpers, so that the other cores stay free for new
  // requests.
  if (!is_urgent) return std::nullopt;
  const int64_t worth = HelpersWorth(model_->cost->PredictBatch(tokens), tokens, largest);
  return std::make_optional<Helpers>(context_.workspace, *context_.scheduler,
                                     std::min<int64_t>(context_.most_helpers, worth));
}

}  // namespace vitrine
