// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/describe.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/observe/model_metrics.h"
#include "server/wire/http/address.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/parameters.h"
#include "server/wire/oip/split_input.h"

namespace vitrine {
namespace {

constexpr char kPlatform[] = "vitrine";

// Returns the name that other servers of the Open Inference Protocol use for this state.
std::string StateName(v1::ModelState state) {
  switch (state) {
    case v1::READY:
      return "READY";
    case v1::LOADING:
      return "LOADING";
    case v1::RETIRING:
      return "UNLOADING";
    default:
      return "UNAVAILABLE";
  }
}

void FillDuration(uint64_t count, double seconds, inference::StatisticDuration& duration) {
  duration.set_count(count);
  duration.set_ns(static_cast<uint64_t>(seconds * 1e9));
}

inference::ModelStatistics StatisticsOf(const VersionId& id, const ModelTotals& totals) {
  inference::ModelStatistics statistics;
  statistics.set_name(id.model);
  statistics.set_version(absl::StrCat(id.version));
  statistics.set_inference_count(totals.succeeded.count);
  statistics.set_execution_count(totals.batches);
  inference::InferStatistics& durations = *statistics.mutable_inference_stats();
  FillDuration(totals.succeeded.count, totals.succeeded.seconds, *durations.mutable_success());
  FillDuration(totals.failed.count, totals.failed.seconds, *durations.mutable_fail());
  // The count of every stage is the number of requests, because clients divide the stage's time by the count.
  const auto fill_stage = [&](Stage stage, inference::StatisticDuration& duration) {
    FillDuration(totals.succeeded.count, totals.stages[static_cast<int>(stage)].seconds, duration);
  };
  fill_stage(Stage::kQueue, *durations.mutable_queue());
  fill_stage(Stage::kDecode, *durations.mutable_compute_input());
  fill_stage(Stage::kCompute, *durations.mutable_compute_infer());
  fill_stage(Stage::kEncode, *durations.mutable_compute_output());
  durations.mutable_cache_hit();
  durations.mutable_cache_miss();
  return statistics;
}

// Input of a model or of a tensor view.
struct InputForm {
  const char* datatype = "BYTES";
  inference::DataType data_type = inference::TYPE_STRING;
  inference::ModelInput::Format format = inference::ModelInput::FORMAT_NONE;
  std::vector<int64_t> dims = {1};  // dimensions of one element of the batch
};

absl::StatusOr<InputForm> InputFormOf(const FoundModel& found) {
  if (!found.view.has_value()) return InputForm();
  const v1::Preprocessing& preprocessing = found.model->manifest.config().preprocessing();
  ASSIGN_OR_RETURN(const Size size, ViewSize(preprocessing));
  return InputForm{.datatype = "FP32",
                   .data_type = inference::TYPE_FP32,
                   .format = inference::ModelInput::FORMAT_NCHW,
                   .dims = {preprocessing.channels(), size.height, size.width}};
}

std::vector<const char*> OutputsOf(const FoundModel& found) {
  if (found.model->manifest.config().classes() == 0) return {kEmbedding};
  if (found.view.has_value()) return {kProbabilities};
  return {kProbabilities, kLogits};
}

}  // namespace

inference::ServerMetadataResponse ServerMetadata() {
  inference::ServerMetadataResponse response;
  response.set_name("vitrine");
  response.set_version(VITRINE_VERSION);
  for (const char* extension :
       {"classification", "schedule_policy", "model_configuration", "parameters", "binary_tensor_data", "statistics"}) {
    response.add_extensions(extension);
  }
  return response;
}

absl::StatusOr<inference::ModelMetadataResponse> ModelMetadata(const FoundModel& found, const Registry& registry) {
  const LoadedModel& model = *found.model;
  inference::ModelMetadataResponse response;
  response.set_name(NameOf(model.id.model, found.view));
  for (const VersionStatus& status : registry.List()) {
    if (status.id.model == model.id.model && status.state == v1::READY) {
      response.add_versions(absl::StrCat(status.id.version));
    }
  }
  response.set_platform(kPlatform);
  ASSIGN_OR_RETURN(const InputForm form, InputFormOf(found));
  auto& input = *response.add_inputs();
  input.set_name(kInputName);
  input.set_datatype(form.datatype);
  input.add_shape(-1);
  for (const int64_t side : form.dims) input.add_shape(side);
  for (const char* name : OutputsOf(found)) {
    auto& output = *response.add_outputs();
    output.set_name(name);
    output.set_datatype("FP32");
    output.add_shape(-1);
    output.add_shape(model.description->outputs());
  }
  return response;
}

absl::StatusOr<inference::ModelConfigResponse> ModelConfiguration(const FoundModel& found) {
  const LoadedModel& model = *found.model;
  inference::ModelConfigResponse response;
  inference::ModelConfig& config = *response.mutable_config();
  config.set_name(NameOf(model.id.model, found.view));
  config.set_platform(kPlatform);
  config.set_backend(kPlatform);
  config.set_max_batch_size(kMaxBatch);
  ASSIGN_OR_RETURN(const InputForm form, InputFormOf(found));
  inference::ModelInput& input = *config.add_input();
  input.set_name(kInputName);
  input.set_data_type(form.data_type);
  input.set_format(form.format);
  for (const int64_t side : form.dims) input.add_dims(side);
  for (const char* name : OutputsOf(found)) {
    inference::ModelOutput& output = *config.add_output();
    output.set_name(name);
    output.set_data_type(inference::TYPE_FP32);
    output.add_dims(model.description->outputs());
    if (!model.labels.empty()) output.set_label_filename("labels.txt");
  }
  config.mutable_dynamic_batching()->set_priority_levels(kPriorityLevels);
  config.mutable_dynamic_batching()->set_default_priority_level(kDefaultPriorityLevel);
  return response;
}

inference::RepositoryIndexResponse RepositoryIndex(const Registry& registry, const Caller& caller, bool ready_only) {
  inference::RepositoryIndexResponse response;
  for (const VersionStatus& status : registry.List()) {
    if (!caller.MayUse(status.id.model) || (ready_only && status.state != v1::READY)) continue;
    auto& row = *response.add_models();
    row.set_name(status.id.model);
    row.set_version(absl::StrCat(status.id.version));
    row.set_state(StateName(status.state));
    row.set_reason(status.reason);
  }
  return response;
}

absl::StatusOr<inference::ModelStatisticsResponse> Statistics(const Registry& registry, const Caller& caller,
                                                              const inference::ModelStatisticsRequest& request) {
  ASSIGN_OR_RETURN(const ModelName named, ReadModelName(request.name()));
  ASSIGN_OR_RETURN(const v1::ClassifyRequest wanted, AddressOf(named.model, request.version()));
  if (!wanted.version_label().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the version is \"", Shown(request.version()), "\"; statistics are kept by number"));
  }
  inference::ModelStatisticsResponse response;
  for (const VersionStatus& status : registry.List()) {
    if (status.state != v1::READY || !caller.MayUse(status.id.model)) continue;
    if (!request.name().empty() && named.model != status.id.model) continue;
    if (wanted.has_version() && wanted.version() != status.id.version) continue;
    // List returns the versions of a model one after the other, and all versions of a model have the same totals. If
    // the request names no version, the model gets one entry, with the newest version.
    auto& entries = *response.mutable_model_stats();
    const bool is_same = !entries.empty() && entries.rbegin()->name() == NameOf(status.id.model, named.view);
    inference::ModelStatistics& statistics = is_same ? *entries.rbegin() : *entries.Add();
    statistics = StatisticsOf(status.id, status.model->metrics->Totals());
    statistics.set_name(NameOf(status.id.model, named.view));
  }
  if (response.model_stats().empty() && !request.name().empty()) {
    return absl::NotFoundError(absl::StrCat("no version of model \"", Shown(request.name()), "\" ",
                                            request.version().empty() ? "" : "with that number ", "is ready"));
  }
  return response;
}

}  // namespace vitrine
