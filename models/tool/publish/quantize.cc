// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/quantize.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/charts/html/data_table.h"
#include "common/charts/progress_display.h"
#include "common/data/dataset.h"
#include "common/data/label_map.h"
#include "common/data/parallel.h"
#include "common/data/tolerant.h"
#include "common/data/unicode.h"
#include "common/machine/machine.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu/instructions.h"
#include "models/repository/files/text.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/goldens.h"
#include "models/tool/publish/image.h"
#include "models/tool/publish/kept_layers.h"

namespace vitrine {
namespace {

constexpr int64_t kSample = 64;  // number of images for measuring an operator's error
constexpr size_t kBatch = 64;    // images in memory at once

// Returns the model's class for each label of the data set: the same index if model and data set have the same labels,
// otherwise the index that MatchLabels finds. Every label must have a class.
absl::StatusOr<std::vector<int32_t>> MatchClasses(const Dataset& data, const std::vector<std::string>& model) {
  const std::vector<std::string>& labels = data.labels();
  if (SameNames(labels, model)) {
    std::vector<int32_t> classes(labels.size());
    std::iota(classes.begin(), classes.end(), 0);
    return classes;
  }
  absl::StatusOr<LabelMatch> match = MatchLabels(labels, model);
  if (match.ok() && match->unknown.empty()) {
    for (const std::string& line : MatchInWords(*match, data)) std::cerr << "vitrine-repo: " << line << "\n";
    return std::move(match->classes);
  }
  if (absl::IsInvalidArgument(match.status())) {
    const absl::string_view fault = match.status().message();
    // the text after ";" is cut: it suggests --label-map, which `quantize` does not have
    return absl::FailedPreconditionError(fault.substr(0, fault.find(';')));
  }
  const std::string& label = match.ok() ? match->unknown.front() : labels.front();
  return absl::FailedPreconditionError(
      absl::StrCat("the data set has the label \"", EscapedText(label), "\", which the model lacks; its ", model.size(),
                   " labels begin with \"", EscapedText(model.front()), "\"; use images of the model's classes"));
}

// Measures, on images of a data set, the accuracy of a version in a precision and the errors of its logits.
class ErrorMeasurement {
 public:
  // The arguments passed by reference must outlive the object.
  ErrorMeasurement(const WeightedModel& model, const Dataset& data, std::vector<int32_t> classes, cpu::CpuPath path,
                   ProgressDisplay& display)
      : model_(model), data_(data), classes_(std::move(classes)), path_(path), display_(display) {}

  // Returns indices spread evenly over the data set, because the data set may be sorted by class.
  std::vector<int64_t> Spread(int64_t wanted) const {
    const int64_t count = std::min(wanted, data_.size());
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) indices.push_back(i * data_.size() / count);
    return indices;
  }

  // Decodes the images once, so that the error names all corrupt images before anything is computed.
  absl::Status CheckImages(std::span<const int64_t> indices) const {
    std::vector<absl::Status> decoded(indices.size());
    const auto decode = [&](int64_t i) -> absl::Status {
      const auto place = static_cast<size_t>(i);
      decoded[place] = data_.image(indices[place]).status();
      return decoded[place].ok() || CorruptImages::IsCorrupt(decoded[place]) ? absl::OkStatus() : decoded[place];
    };
    RETURN_IF_ERROR(ParallelFor(static_cast<int64_t>(decoded.size()), FindMachine().Threads(), decode));
    CorruptImages corrupt;
    for (const absl::Status& status : decoded) {
      if (!status.ok()) corrupt.Add(status);
    }
    return corrupt.Judge(std::nullopt);
  }

  // Counts the images that are classified correctly.
  absl::StatusOr<int64_t> Correct(const PrecisionChoice& choice, std::span<const int64_t> indices) {
    ASSIGN_OR_RETURN(const Forward forward, EngineForward(model_, path_, choice));
    int64_t correct = 0;
    for (size_t first = 0; first < indices.size(); first += kBatch) {
      const auto batch = indices.subspan(first, std::min(kBatch, indices.size() - first));
      ASSIGN_OR_RETURN(const std::vector<FloatArray> inputs, Inputs(batch));
      ASSIGN_OR_RETURN(const FloatArray logits, forward(inputs));
      for (size_t i = 0; i < batch.size(); ++i) {
        const std::span<const float> row = logits[static_cast<int64_t>(i)];
        const int64_t top = std::max_element(row.begin(), row.end()) - row.begin();
        correct += top == classes_[static_cast<size_t>(data_.label(batch[i]))] ? 1 : 0;
      }
      const size_t done = first + batch.size();
      Show(absl::StrCat("accuracy in ", Name(choice.precision)), done, indices.size(), "images");
    }
    return correct;
  }

  // Returns, for each group, the error of the logits if only that group is computed in `precision`.
  absl::StatusOr<std::vector<double>> Errors(std::span<const OperatorGroup> groups, Precision precision) {
    ASSIGN_OR_RETURN(const std::vector<FloatArray> sample, Inputs(Spread(kSample)));
    const auto logits = [&](size_t narrow) -> absl::StatusOr<FloatArray> {
      const PrecisionChoice choice{.precision = precision, .kept = OperatorsExcept(groups, narrow)};
      ASSIGN_OR_RETURN(const Forward forward, EngineForward(model_, path_, choice));
      return forward(sample);
    };
    ASSIGN_OR_RETURN(const FloatArray kept, logits(groups.size()));
    std::vector<double> errors;
    for (size_t i = 0; i < groups.size(); ++i) {
      ASSIGN_OR_RETURN(const FloatArray narrow, logits(i));
      errors.push_back(RelativeError(narrow.values, kept.values));
      Show(absl::StrCat("errors in ", Name(precision)), i + 1, groups.size(), "operators");
    }
    return errors;
  }

 private:
  absl::StatusOr<std::vector<FloatArray>> Inputs(std::span<const int64_t> indices) const {
    std::vector<FloatArray> inputs(indices.size());
    const auto read = [&](int64_t i) -> absl::Status {
      const auto place = static_cast<size_t>(i);
      ASSIGN_OR_RETURN(inputs[place], InputOf(data_, indices[place], model_.description.config().preprocessing()));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(ParallelFor(static_cast<int64_t>(inputs.size()), FindMachine().Threads(), read));
    return inputs;
  }

  void Show(const std::string& what, size_t done, size_t all, const char* things) {
    display_.Update(static_cast<double>(done) / static_cast<double>(all),
                    absl::StrCat(what, ": ", WithSeparators(static_cast<int64_t>(done)), " of ",
                                 WithSeparators(static_cast<int64_t>(all)), " ", things),
                    absl::Now());
  }

  const WeightedModel& model_;
  const Dataset& data_;
  const std::vector<int32_t> classes_;  // the model's class for each class of the data set
  const cpu::CpuPath path_;
  ProgressDisplay& display_;
};

// A plan and its measured accuracy.
struct Found {
  PrecisionChoice choice;
  std::vector<std::pair<OperatorGroup, double>> kept;  // kept operators with their errors, largest error first
  size_t groups = 0;                                   // number of groups
  int64_t images = 0;
  int64_t correct = 0;
  int64_t correct_fp32 = 0;

  double Share(int64_t count) const { return static_cast<double>(count) / static_cast<double>(images); }
  double Lost() const { return 100 * (Share(correct_fp32) - Share(correct)); }  // percentage points
  std::string InWords() const {
    return absl::StrFormat("%s, %d of %d kept: top-1 %.2f %%, in fp32 %.2f %%", Name(choice.precision), kept.size(),
                           groups, 100 * Share(correct), 100 * Share(correct_fp32));
  }
};

absl::Status NothingFits(const Found& found, double budget) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s loses %.2f percentage points of top-1 even with all but one of %d operators excluded, but "
                      "--budget is %g; nothing was published",
                      Name(found.choice.precision), found.Lost(), found.groups, budget));
}

// Keeps more and more operators out of `precision`, in descending order of their errors, until the loss of accuracy is
// within the budget. Leaves at least one operator in `precision`, because the plan would otherwise not use `precision`.
absl::StatusOr<Found> FindPlan(const WeightedModel& model, Precision precision, const QuantizeOptions& options,
                               ErrorMeasurement& measurement, ProgressDisplay& display) {
  constexpr double kRounding = 1e-9;
  const std::vector<OperatorGroup> groups = NarrowableOperators(model.description.program());
  if (groups.empty()) return absl::FailedPreconditionError("the model has no matrix products");
  const std::vector<int64_t> indices = measurement.Spread(options.images);
  RETURN_IF_ERROR(measurement.CheckImages(indices));
  Found found;
  found.choice.precision = precision;
  found.groups = groups.size();
  found.images = static_cast<int64_t>(indices.size());
  ASSIGN_OR_RETURN(found.correct_fp32, measurement.Correct({}, indices));
  std::vector<double> errors;  // measured only if operators must be kept
  std::vector<size_t> worst;
  for (size_t kept = 0;; kept = KeepNext(kept, groups.size() - 1)) {
    if (kept == 1) {
      ASSIGN_OR_RETURN(errors, measurement.Errors(groups, precision));
      worst = SortByError(errors);
    }
    const std::span<const size_t> places = std::span(worst).first(kept);
    found.kept.clear();
    for (const size_t place : places) found.kept.emplace_back(groups[place], errors[place]);
    found.choice.kept = OperatorsAt(groups, places);
    ASSIGN_OR_RETURN(found.correct, measurement.Correct(found.choice, indices));
    display.Line(found.InWords());
    if (found.Lost() <= options.budget + kRounding) return found;
    if (kept + 1 == groups.size()) return NothingFits(found, options.budget);
  }
}

// Returns the serving path, or the portable path if this CPU lacks the instructions. The portable path is slower, and
// its results differ only by rounding.
absl::StatusOr<cpu::CpuPath> MeasuringPath(Precision precision) {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  const absl::Status can = engine::CanCompute(precision, path);
  if (can.ok()) return path;
  std::cerr << "vitrine-repo: " << can.message() << "; measuring on the portable path, which is slow\n";
  return cpu::CpuPath::kPortable;
}

absl::StatusOr<Found> Measure(const StoredVersion& version, const WeightedModel& model, Precision precision,
                              cpu::CpuPath path, const QuantizeOptions& options) {
  if (version.labels.empty()) {
    return absl::FailedPreconditionError(
        "the version has no classes, so no accuracy can be measured, and it runs in fp32 only; `vitrine-repo head` or "
        "`import --zero-shot` makes a head");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data,
                   OpenDataset(options.data, options.split == "train" ? Split::kTrain : Split::kTest));
  for (const std::string& remark : data->remarks()) std::cerr << "vitrine-repo: " << EscapedText(remark) << "\n";
  if (data->size() == 0) return absl::FailedPreconditionError(absl::StrCat(options.data, " has no images"));
  if (const int64_t images = std::min(options.images, data->size()); images < kFewestQuantizeImages) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%d images cannot show a loss of %g percentage points (--budget); at least %d are needed, "
                        "better a thousand",
                        images, options.budget, kFewestQuantizeImages));
  }
  ASSIGN_OR_RETURN(std::vector<int32_t> classes, MatchClasses(*data, version.labels));
  ProgressDisplay display(std::cerr, {.is_terminal = isatty(STDERR_FILENO) != 0, .plain_lines = absl::Seconds(10)});
  ErrorMeasurement measurement(model, *data, std::move(classes), path, display);
  return FindPlan(model, precision, options, measurement, display);
}

void SetPlan(const Found& found, const std::string& split, v1::Manifest& manifest) {
  const std::string precision = Name(found.choice.precision);
  auto& plans = *manifest.mutable_precisions();
  plans.erase(std::remove_if(plans.begin(), plans.end(),
                             [&](const v1::PrecisionPlan& plan) { return plan.precision() == precision; }),
              plans.end());
  v1::PrecisionPlan& plan = *plans.Add();
  plan.set_precision(precision);
  plan.mutable_kept()->Assign(found.choice.kept.begin(), found.choice.kept.end());
  for (const auto& [name, correct] : {std::pair{"top1", found.correct}, {"top1 fp32", found.correct_fp32}}) {
    v1::Metric& metric = *plan.add_metrics();
    metric.set_name(name);
    metric.set_split(split);
    metric.set_value(found.Share(correct));
    metric.set_images(found.images);
  }
}

// Adds the plan, its goldens and its tolerance. Checks that the serving path agrees with the goldens; otherwise a
// server on this CPU would reject the version.
absl::Status AddPrecision(const Found& found, const WeightedModel& model, cpu::CpuPath path, const std::string& split,
                          StoredVersion& version) {
  const std::string precision = Name(found.choice.precision);
  SetPlan(found, split, version.manifest);
  SetNarrowTolerance(precision, version.manifest);
  ASSIGN_OR_RETURN(const Forward portable, EngineForward(model, cpu::CpuPath::kPortable, found.choice));
  RETURN_IF_ERROR(RecordGolden(model.description, portable, ImageInput, version.golden, precision));
  ASSIGN_OR_RETURN(const Forward serving, EngineForward(model, path, found.choice));
  return CheckGolden(version, model.description, serving, ImageInput, "cpu", precision);
}

void PrintAsJson(const Found& found, const VersionId& published, const std::string& split) {
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (const auto& [group, error] : found.kept) {
    for (const std::string& name : group) kept.push_back({{"operator", name}, {"error", error}});
  }
  const nlohmann::ordered_json line = {{"model", published.model},
                                       {"version", published.version},
                                       {"precision", Name(found.choice.precision)},
                                       {"data", split},
                                       {"images", found.images},
                                       {"top1", found.Share(found.correct)},
                                       {"top1_fp32", found.Share(found.correct_fp32)},
                                       {"groups", found.groups},
                                       {"kept", kept}};
  std::cout << line.dump(2) << "\n";
}

void Print(const Found& found, const VersionId& from, const VersionId& published, const std::string& split,
           const std::string& repository) {
  std::cout << absl::StreamFormat("top-1 %.2f %% in %s, %.2f %% in fp32, on %s\n", 100 * found.Share(found.correct),
                                  Name(found.choice.precision), 100 * found.Share(found.correct_fp32), split);
  std::cout << absl::StreamFormat("%d of %d operators are excluded%s\n", found.kept.size(), found.groups,
                                  found.kept.empty() ? "" : ", with the error that each alone would cause:");
  for (const auto& [group, error] : found.kept) {
    std::cout << absl::StreamFormat("  %8.5f  %s", error, group.front());
    if (group.size() > 1) std::cout << " and " << group.size() - 1 << " in its group";
    std::cout << "\n";
  }
  std::cout << published.model << "/" << published.version << " in " << repository << ": " << from.model << "/"
            << from.version << ", now in " << Name(found.choice.precision) << " also; `vitrine-repo verify "
            << repository << " " << published.model << "@" << published.version << "` checks it\n";
}

}  // namespace

absl::Status QuantizeCommand(const QuantizeOptions& options) {
  const Precision precision = ParsePrecision(options.precision).value_or(Precision::kInt8);
  ASSIGN_OR_RETURN(const VersionId from, FindOneVersion(options.repository, options.which));
  ASSIGN_OR_RETURN(StoredVersion version, ReadVersion(options.repository, from));
  ASSIGN_OR_RETURN(const WeightedModel model, FitWeights(version.manifest, version.weights));
  int64_t bytes = 0;
  for (const v1::FileDigest& file : version.manifest.files()) bytes += file.bytes();
  RETURN_IF_ERROR(CheckPublishable(options.repository, from.model, bytes));
  ASSIGN_OR_RETURN(const cpu::CpuPath path, MeasuringPath(precision));
  ASSIGN_OR_RETURN(const Found found, Measure(version, model, precision, path, options));
  const std::string split = DataInWords(options.data, options.split, found.images);
  RETURN_IF_ERROR(AddPrecision(found, model, path, split, version));
  const Draft draft = {std::move(version.manifest), std::move(version.weights), std::move(version.golden),
                       std::move(version.labels), std::move(version.extra_files)};
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, from.model, draft));
  if (options.format == "json") {
    PrintAsJson(found, published, split);
  } else {
    Print(found, from, published, split, options.repository);
  }
  return absl::OkStatus();
}

}  // namespace vitrine
