// SPDX-License-Identifier: Apache-2.0
// Checks one mixed batch on the device.
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "models/reference/float_arrays.h"
#include "models/reference/torch_backend/backend.h"
#include "models/reference/torch_backend/draw.h"
#include "models/zoo.h"
#include "server/registry/golden_input.h"
#include "server/registry/model_loader.h"
#include "server/serve/execution/executor.h"
#include "server/serve/execution/response.h"
#include "server/serve/request/plan_request.h"

namespace vitrine {
namespace {

constexpr size_t kLeastGrids = 4;

// One model on the device and on the CPU.
struct Pair {
  ModelHandle device;
  ModelHandle cpu;
};

absl::StatusOr<ModelHandle> Fresh(const ZooRow& row, const Device& device) {
  auto loaded = std::make_shared<LoadedModel>();
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(row.config));
  ASSIGN_OR_RETURN(const std::vector<FloatArray> drawn, DrawWeights(row.config, 7));
  std::vector<const float*> weights;
  for (const FloatArray& weight : drawn) weights.push_back(weight.values.data());
  if (device.kind == Device::Kind::kCpu) {
    ASSIGN_OR_RETURN(loaded->backend, MakeCpuBackend(description.program(), weights, cpu::SupportedPaths().back()));
  } else {
    ASSIGN_OR_RETURN(loaded->backend, MakeReferenceBackend(row.config, weights, device.name()));
  }
  loaded->id = {std::string(row.name), 1};
  *loaded->manifest.mutable_config() = row.config;
  for (int i = 0; i < row.config.classes(); ++i) loaded->labels.push_back(absl::StrCat("class ", i));
  loaded->device = device.name();
  loaded->precision = "fp32";
  loaded->attention = description.attention();
  loaded->features = description.features();
  loaded->description = std::make_shared<const ModelDescription>(std::move(description));
  return loaded;
}

// Returns a published version that takes images of any shape; if there is none, a model with random weights.
absl::StatusOr<Pair> NativeModel(const CheckSetting& setting) {
  for (const VersionId& id : setting.versions) {
    ASSIGN_OR_RETURN(const v1::Manifest manifest, ReadManifest(setting.repository, id));
    if (!manifest.config().preprocessing().has_native()) continue;
    Pair pair;
    ASSIGN_OR_RETURN(pair.device, ModelLoader(setting.repository, setting.device).Load(id));
    ASSIGN_OR_RETURN(pair.cpu, ModelLoader(setting.repository, Device{}).Load(id));
    return pair;
  }
  ASSIGN_OR_RETURN(const ZooRow row, FindVariant("eit34-mini-cifar10"));
  Pair pair;
  ASSIGN_OR_RETURN(pair.device, Fresh(row, setting.device));
  ASSIGN_OR_RETURN(pair.cpu, Fresh(row, Device{}));
  return pair;
}

// Submits all requests before an executor starts, so that they form one batch.
absl::StatusOr<std::vector<v1::ClassifyResponse>> Answers(const CheckSetting& setting, const ModelHandle& model) {
  std::mutex mutex;
  std::vector<absl::StatusOr<v1::ClassifyResponse>> answers(setting.images.size(),
                                                            absl::InternalError("a request was never answered"));
  BatchOptions options;
  options.max_batch_tokens = 1 << 20;
  Scheduler scheduler(options, SteadyClock());
  for (size_t i = 0; i < setting.images.size(); ++i) {
    v1::ClassifyRequest request;
    request.set_model(model->id.model);
    request.set_image(setting.images[i]);
    request.set_top_k(model->description->config().classes());
    request.set_request_id(absl::StrCat(i));
    v1::AttentionRequest& attention = *request.add_attention();
    attention.set_kind(v1::CLASS_TOKEN_ROW);
    ASSIGN_OR_RETURN(InferenceRequest planned, PlanRequest(ReceivedOf(std::move(request)), model));
    planned.arrival = SteadyClock().Now();
    planned.done = [&mutex, &answer = answers[i]](absl::StatusOr<v1::ClassifyResponse> result) {
      const std::lock_guard lock(mutex);
      answer = std::move(result);
    };
    scheduler.Submit(std::move(planned));
  }
  ExecutorOptions executor;
  executor.device = setting.device;
  executor.threads = 1;
  executor.pin = false;
  {
    const ExecutorPool pool(executor, scheduler, MakeResponse, SteadyClock());
    scheduler.Stop(absl::Seconds(60));
  }
  std::vector<v1::ClassifyResponse> all;
  for (auto& answer : answers) {
    if (!answer.ok()) return answer.status();
    all.push_back(*std::move(answer));
  }
  return all;
}

// Returns the logits of an answer with every class.
FloatArray LogitsIn(const v1::ClassifyResponse& answer) {
  FloatArray logits{.shape = {1, answer.predictions_size()},
                    .values = std::vector<float>(static_cast<size_t>(answer.predictions_size()))};
  for (const v1::Prediction& prediction : answer.predictions()) {
    logits.values.at(static_cast<size_t>(prediction.index())) = prediction.logit();
  }
  return logits;
}

absl::Status CheckForm(const v1::ClassifyResponse& answer, size_t index, const CheckSetting& setting, uint64_t batch) {
  if (answer.request_id() != absl::StrCat(index)) return absl::InternalError("an answer reached the wrong caller");
  if (answer.batch().id() != batch || answer.batch().images() != static_cast<int>(setting.images.size())) {
    return absl::InternalError("the images did not run in one batch");
  }
  if (answer.served_by().device() != setting.device.name()) {
    return absl::InternalError(absl::StrCat("image ", index, " was served by ", answer.served_by().device()));
  }
  if (answer.attention_size() != 1 || answer.attention(0).rows() != answer.grid().rows() ||
      answer.attention(0).columns() != answer.grid().columns()) {
    return absl::InternalError(absl::StrCat("the attention map of image ", index, " does not lie on its grid"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MixedBatch(const CheckSetting& setting) {
  ASSIGN_OR_RETURN(const Pair model, NativeModel(setting));
  ASSIGN_OR_RETURN(const std::vector<v1::ClassifyResponse> answers, Answers(setting, model.device));
  std::set<std::pair<int, int>> grids;
  double largest = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    RETURN_IF_ERROR(CheckForm(answers[i], i, setting, answers[0].batch().id()));
    grids.insert({answers[i].grid().rows(), answers[i].grid().columns()});
    const v1::ModelConfig& config = model.cpu->description->config();
    ASSIGN_OR_RETURN(const FloatArray input, DecodeGoldenInput(setting.images[i], config.preprocessing()));
    ASSIGN_OR_RETURN(const FloatArray alone, LogitsOf(*model.cpu->backend, config.classes(), {&input, 1}));
    const double error = RelativeError(TensorOf(LogitsIn(answers[i])), TensorOf(alone));
    if (!(error <= kTolerance)) {
      return absl::InternalError(
          absl::StrFormat("the logits of image %d are off by %.1e from those that the CPU "
                          "gives it alone; %.0e is allowed",
                          i, error, kTolerance));
    }
    largest = std::max(largest, error);
  }
  if (grids.size() < kLeastGrids) {
    return absl::InternalError(absl::StrCat("the images have only ", grids.size(), " grids; give more shapes"));
  }
  return absl::StrFormat("%d images, %d grids, %d tokens in one batch of %s/%d; logits off by %.1e", answers.size(),
                         grids.size(), answers[0].batch().tokens(), model.device->id.model, model.device->id.version,
                         largest);
}

}  // namespace

void CheckMixedBatch(const CheckSetting& setting, CheckReport& report) {
  report.Run("one mixed batch", [&] { return MixedBatch(setting); });
}

}  // namespace vitrine
