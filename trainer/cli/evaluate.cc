// SPDX-License-Identifier: Apache-2.0
// `vitrine-train evaluate`.
#include "trainer/evaluate.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/charts/html/data_table.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/data/dataset.h"
#include "common/data/label_map.h"
#include "common/data/relabelled.h"
#include "common/data/tolerant.h"
#include "common/data/unicode.h"
#include "common/file/write.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/repository/stored_version.h"
#include "trainer/cli/commands.h"
#include "trainer/lab/tasks/features.h"
#include "trainer/loop.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

absl::StatusOr<VersionId> ChooseVersion(const EvaluateFlags& flags) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(flags.model, absl::MaxSplits('@', 1));
  const auto& [model, number] = parts;
  if (!number.empty()) {
    VersionId id{model, 0};
    if (absl::SimpleAtoi(number, &id.version) && id.version > 0) return id;
    return WrongCommandLine(
        absl::InvalidArgumentError(absl::StrCat("--model ", flags.model, ": the version must be a positive number")));
  }
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(flags.repository));
  VersionId newest;
  for (const VersionId& id : versions) {
    if (id.model == model && id.version > newest.version) newest = id;
  }
  if (newest.version > 0) return newest;
  return absl::NotFoundError(absl::StrCat(flags.repository, " has no version of ", model));
}

void PrintAccuracy(const EvaluateFlags& flags, const std::string& size, const Accuracy& accuracy) {
  if (flags.format == "table") {
    std::cout << absl::StreamFormat("%-9s  top-1 %6.2f %%  loss %.4f  %d images\n", size, 100 * accuracy.top1(),
                                    accuracy.loss, accuracy.images);
  } else if (flags.format == "csv") {
    std::cout << absl::StreamFormat("%s,%.6f,%.6f,%d\n", size, accuracy.top1(), accuracy.loss, accuracy.images);
  } else {
    std::cout << absl::StreamFormat("{\"size\":\"%s\",\"top1\":%.6f,\"loss\":%.6f,\"images\":%d}\n", size,
                                    accuracy.top1(), accuracy.loss, accuracy.images);
  }
  std::cout << std::flush;
}

// Writes the predicted class of each image, as CSV.
absl::Status WritePredictions(const std::string& path, const Dataset& data, const std::vector<int>& predicted) {
  DataTable table({{"name", ""}, {"label", ""}, {"predicted", ""}});
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto name_of = [&](int index) { return Cell{data.labels()[static_cast<size_t>(index)], ""}; };
    table.Add({Cell{data.name(i), ""}, name_of(data.label(i)), name_of(predicted[static_cast<size_t>(i)])});
  }
  return WriteFile(path, table.Print(OutputFormat::kCsv));
}

// Returns the data with the model's class indices as labels; classes are matched by name. INVALID_ARGUMENT if the model
// lacks a class of the data; the message begins with `mismatch`.
absl::StatusOr<std::unique_ptr<Dataset>> WithClassesOf(const std::vector<std::string>& labels,
                                                       std::unique_ptr<Dataset> data, const std::string& mismatch) {
  absl::StatusOr<LabelMatch> match = MatchLabels(data->labels(), labels);
  if (!match.ok()) {
    const absl::string_view fault = match.status().message();
    return absl::InvalidArgumentError(
        // omits the text after ';', because it suggests --label-map, which is no flag of this command
        absl::StrCat(mismatch, ": ", fault.substr(0, fault.find(';'))));
  }
  if (match->unknown.empty()) {
    for (const std::string& line : MatchInWords(*match, *data)) std::cerr << kTrainProgram << ": " << line << "\n";
    return MakeRelabelled(std::move(data), std::move(match->classes), labels);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(mismatch, ": the model has no class \"", match->unknown.front(), "\""));
}

// Returns the sizes in --resolutions; without that flag, one nullopt, which stands for each image's own size.
absl::StatusOr<std::vector<std::optional<Size>>> SizesOf(const EvaluateFlags& flags) {
  std::vector<std::optional<Size>> sizes;
  for (size_t first = 0; first < flags.resolutions.size();) {
    const size_t comma = std::min(flags.resolutions.find(',', first), flags.resolutions.size());
    ASSIGN_OR_RETURN(const Size size, ParseSize(flags.resolutions.substr(first, comma - first)));
    sizes.push_back(size);
    first = comma + 1;
  }
  if (sizes.empty()) sizes.push_back(std::nullopt);
  if (!(flags.predictions.empty() && flags.features.empty()) && sizes.size() > 1) {
    return absl::InvalidArgumentError("--out and --features need exactly one of the --resolutions");
  }
  return sizes;
}

// Opens the split, decodes every image, and leaves out corrupt images. A split that is too large for memory is decoded
// again for each size.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDecodable(const EvaluateFlags& flags, CorruptImages& corrupt) {
  const Split split = flags.split == "train" ? Split::kTrain : Split::kTest;
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> opened, OpenDataset(flags.data, split));
  absl::StatusOr<std::unique_ptr<Dataset>> cached =
      CacheInMemory(std::move(opened), flags.threads, int64_t{4} << 30, &corrupt);
  if (!absl::IsResourceExhausted(cached.status())) return cached;
  ASSIGN_OR_RETURN(opened, OpenDataset(flags.data, split));
  return LeaveOutCorrupt(std::move(opened), flags.threads, corrupt);
}

// Checks that the folders of the output files exist. Called before the evaluation, which takes long.
absl::Status CheckFolders(const EvaluateFlags& flags) {
  for (const auto& [flag, file] : {std::pair("--out", flags.predictions), std::pair("--features", flags.features)}) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code ignored;
    if (folder.empty() || std::filesystem::is_directory(folder, ignored)) continue;
    return absl::NotFoundError(absl::StrCat(flag, " ", file, ": there is no folder ", folder.string()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EvaluateModel(const EvaluateFlags& flags) {
  ASSIGN_OR_RETURN(const std::vector<std::optional<Size>> sizes, WrongCommandLine(SizesOf(flags)));
  RETURN_IF_ERROR(CheckFolders(flags));
  ASSIGN_OR_RETURN(const VersionId id, ChooseVersion(flags));
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersion(flags.repository, id));
  if (version.labels.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(id.model, " has no classes to evaluate; make a head for it with `vitrine-repo head`"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, BuildModel(version));
  CorruptImages corrupt;
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, OpenDecodable(flags, corrupt));
  for (const std::string& remark : data->remarks()) std::cerr << kTrainProgram << ": " << remark << "\n";
  RETURN_IF_ERROR(corrupt.Judge(std::nullopt));
  if (!SameNames(data->labels(), version.labels)) {
    ASSIGN_OR_RETURN(data, WithClassesOf(version.labels, std::move(data),
                                         absl::StrCat(flags.data, " has other classes than ", id.model)));
  }
  SetComputeThreads(1);  // each batch has its own thread
  std::vector<int> predicted;
  at::Tensor features;
  if (flags.format == "csv") std::cout << "size,top1,loss,images\n";
  for (const std::optional<Size>& size : sizes) {
    const EvaluateOptions options{.threads = flags.threads,
                                  .stop = InterruptedFlag(),
                                  .predicted = flags.predictions.empty() ? nullptr : &predicted,
                                  .features = flags.features.empty() ? nullptr : &features};
    ASSIGN_OR_RETURN(const Accuracy accuracy, Evaluate(*model, *data, size, options));
    PrintAccuracy(flags, size ? ToString(*size) : "own", accuracy);
  }
  if (!flags.predictions.empty()) RETURN_IF_ERROR(WritePredictions(flags.predictions, *data, predicted));
  if (!flags.features.empty()) {
    FeatureSet set{.features = features, .labels = {}};
    for (int64_t i = 0; i < data->size(); ++i) set.labels.push_back(data->label(i));
    RETURN_IF_ERROR(WriteFeatures(set, flags.features));
  }
  return absl::OkStatus();
}

void AddEvaluate(CLI::App& app, EvaluateFlags& flags) {
  CLI::App& evaluate = *app.add_subcommand("evaluate", "Measure a published model on a data set");
  evaluate.add_option("--repository", flags.repository, "Repository of the model")->required();
  evaluate.add_option("--model", flags.model, "NAME or NAME@VERSION; without a version: the newest")->required();
  evaluate.add_option("--data", flags.data, "Data set as FORMAT:PATH. Formats:\n" + DatasetFormats())
      ->required()
      ->check([](const std::string& spec) { return std::string(CheckDatasetSpec(spec).message()); });
  evaluate.add_option("--split", flags.split, "Split of the data: test (default) or train")
      ->check(CLI::IsMember({"test", "train"}));
  evaluate.add_option("--resolutions", flags.resolutions,
                      "Input sizes, for instance 24,32,40x24; default: each image's own size");
  evaluate.add_option("--out", flags.predictions, "CSV file for each image's name, label and predicted class");
  evaluate.add_option("--features", flags.features,
                      "Safetensors file for each image's vector before the head and its class, as features: reads it");
  evaluate.add_option("--threads", flags.threads, "Number of threads for computation")->check(CLI::Range(1, 1024));
  evaluate.add_option("--format", flags.format, "Output format: table (default), json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  evaluate.footer(
      "  vitrine-train evaluate --repository my-models --model kv-mnist --data mnist:$VITRINE_DATA/mnist\n");
}

}  // namespace vitrine
