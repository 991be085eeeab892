// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/study.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "client/eval/page/look.h"
#include "common/imaging/geometry.h"
#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kSampledSizes = 64;  // maximum sizes per GetModel request

// Returns the resolution as "160x224", or as "224" for a square if `short_form` is true. Returns "" for nullopt.
std::string ResolutionText(const std::optional<v1::ResolutionWish>& requested, bool short_form) {
  if (!requested) return "";
  if (short_form && requested->height() == requested->width()) return absl::StrCat(requested->height());
  return absl::StrCat(requested->height(), "x", requested->width());
}

// Returns the input sizes that the model uses for images of `data`, and the number of sampled images for each size.
// If `resolution` or the model fixes the size, returns only this size, with the number 1.
absl::StatusOr<std::map<std::pair<int, int>, int>> InputSizes(const v1::Preprocessing& preprocessing,
                                                              const std::optional<v1::ResolutionWish>& resolution,
                                                              const Dataset& data) {
  std::optional<Size> requested;
  if (resolution) requested = Size{resolution->height(), resolution->width()};
  std::map<std::pair<int, int>, int> sizes;
  if (requested || preprocessing.has_fixed()) {
    const Size original = requested.value_or(Size{preprocessing.fixed().height(), preprocessing.fixed().width()});
    ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, original, requested));
    sizes[{geometry.input.height, geometry.input.width}] = 1;
    return sizes;
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < data.size(); ++i) all.push_back(i);
  for (const int64_t index : EvenlySpread(all, kSampledSizes)) {
    const absl::StatusOr<std::string> encoded = data.encoded(index);
    if (!encoded.ok()) continue;  // unreadable; the evaluation reports it
    const absl::StatusOr<ImageHeader> header = ReadHeader(*encoded);
    if (!header.ok()) continue;
    const auto geometry = PlanGeometry(preprocessing, {.height = header->height, .width = header->width});
    if (geometry.ok()) ++sizes[{geometry->input.height, geometry->input.width}];
  }
  if (sizes.empty()) return absl::NotFoundError("no image's size could be read");
  return sizes;
}

// Measures one cell.
void Measure(const StudyPlan& plan, const v1::ModelVersion& model, const std::optional<v1::ResolutionWish>& resolution,
             Client& client, const Dataset& data, const CellRunner& run, StudyCell& cell) {
  const absl::StatusOr<MeanCost> cost = CostOf(client, model, resolution, data);
  if (absl::IsInvalidArgument(cost.status())) {  // the model rejects each image of this size
    cell.status = cost.status();
    return;
  }
  if (cost.ok()) cell.macs = cost->macs, cell.tokens = cost->tokens;
  EvalCommand command = plan.command;
  command.model = {.name = model.model(), .version = model.version()};
  command.resolution = resolution;
  command.out = (std::filesystem::path(plan.command.out) / cell.folder).string();
  const absl::StatusOr<EvalResult> result = run(command);
  cell.status = result.status();
  if (!result.ok()) return;
  cell.status = result->stopped;
  cell.metrics = ComputeMetrics(result->evaluation);
  for (const Prediction& prediction : result->evaluation.predictions) {
    const bool answered = prediction.outcome == Outcome::kAnswered && !prediction.guesses.empty();
    if (answered) cell.right.emplace(prediction.index, prediction.correct());
  }
}

}  // namespace

bool Study::complete() const {
  return std::ranges::all_of(cells, [](const StudyCell& cell) {
    return cell.status.ok() && cell.measured() && cell.metrics.ledger.complete();
  });
}

std::string CellFolder(const ModelChoice& model, const std::optional<v1::ResolutionWish>& resolution) {
  std::string name = model.name;
  if (model.version) absl::StrAppend(&name, "@", *model.version);
  if (!model.label.empty()) absl::StrAppend(&name, "@", model.label);
  return absl::StrCat(name, "-", resolution ? ResolutionText(resolution, true) : "own");
}

absl::StatusOr<MeanCost> CostOf(Client& client, const v1::ModelVersion& model,
                                const std::optional<v1::ResolutionWish>& resolution, const Dataset& data) {
  ASSIGN_OR_RETURN(const auto sizes, InputSizes(model.config().preprocessing(), resolution, data));
  v1::GetModelRequest request;
  request.set_model(model.model());
  request.set_version(model.version());
  for (const auto& [size, count] : sizes) {
    v1::InputSize& input = *request.add_cost_of();
    input.set_height(size.first);
    input.set_width(size.second);
  }
  ASSIGN_OR_RETURN(const v1::ModelVersion told, client.GetModel(request));
  if (told.costs_size() != static_cast<int>(sizes.size())) {
    return absl::UnimplementedError("the server does not report the cost of an image");
  }
  MeanCost mean;
  double all = 0;
  int i = 0;
  for (const auto& [size, count] : sizes) {
    const v1::PictureCost& cost = told.costs(i++);
    mean.macs += static_cast<double>(cost.macs()) * count;
    mean.tokens += static_cast<double>(cost.tokens()) * count;
    all += count;
  }
  mean.macs /= all;
  mean.tokens /= all;
  return mean;
}

Study RunStudy(const StudyPlan& plan, Client& client, const Dataset& data, const CellRunner& run) {
  Study study{.data = plan.command.data, .split = plan.command.split};
  absl::Status lost;
  for (const ModelChoice& choice : plan.models) {
    const absl::StatusOr<v1::ModelVersion> model =
        lost.ok() ? ChooseModel(client, choice) : absl::StatusOr<v1::ModelVersion>(lost);
    for (const std::optional<v1::ResolutionWish>& resolution : plan.resolutions) {
      StudyCell& cell = study.cells.emplace_back();
      cell.model = choice.name;
      cell.resolution = ResolutionText(resolution, false);
      cell.folder = CellFolder(choice, resolution);
      cell.status = lost.ok() ? model.status() : lost;
      if (!cell.status.ok()) continue;
      cell.version = model->version();
      Measure(plan, *model, resolution, client, data, run, cell);
      // A lost server or a cancellation would also end the remaining cells.
      if (absl::IsUnavailable(cell.status) || absl::IsCancelled(cell.status)) lost = cell.status;
    }
  }
  return study;
}

}  // namespace vitrine
