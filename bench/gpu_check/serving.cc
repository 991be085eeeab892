// SPDX-License-Identifier: Apache-2.0
// Checks weights on the device, and one swap.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "common/status_macros.h"
#include "models/engine/logits.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/float_arrays.h"
#include "server/observe/metrics.h"
#include "server/pages/version_families.h"
#include "server/registry/golden_input.h"
#include "server/registry/model_loader.h"
#include "server/registry/registry.h"

namespace vitrine {
namespace {

// Returns the sum of the weights' sizes, which must equal the reported size.
absl::StatusOr<int64_t> ResidentBytes(const LoadedModel& loaded, const Device& device) {
  if (loaded.device != device.name()) return absl::InternalError(absl::StrCat("the version is on ", loaded.device));
  int64_t bytes = 0;
  for (const program::Weight& weight : loaded.description->program().weights()) {
    bytes += weight.elements() * static_cast<int64_t>(sizeof(float));
  }
  if (loaded.device_bytes == bytes && bytes > 0) return bytes;
  return absl::InternalError(absl::StrCat("device_bytes is ", loaded.device_bytes, "; the weights come to ", bytes));
}

absl::StatusOr<std::string> Weights(const CheckSetting& setting, const VersionId& id) {
  ASSIGN_OR_RETURN(const ModelHandle loaded, ModelLoader(setting.repository, setting.device).Load(id));
  ASSIGN_OR_RETURN(const int64_t bytes, ResidentBytes(*loaded, setting.device));
  return absl::StrCat(loaded->description->program().parameters(), " parameters, ", bytes, " bytes, all on ",
                      setting.device.name(), "; goldens reproduced");
}

// Returns vitrine_model_device_bytes of a version.
absl::StatusOr<int64_t> BytesInMetrics(const Metrics& metrics, const VersionId& id) {
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    if (family.name != "vitrine_model_device_bytes") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      const auto has = [&](const std::string& name, const std::string& value) {
        return std::any_of(metric.label.begin(), metric.label.end(),
                           [&](const auto& label) { return label.name == name && label.value == value; });
      };
      if (has("model", id.model) && has("version", absl::StrCat(id.version))) {
        return static_cast<int64_t>(metric.gauge.value);
      }
    }
  }
  return absl::NotFoundError(absl::StrCat("no vitrine_model_device_bytes of ", id.model, "/", id.version));
}

// Publishes the same model with another last layer and with new goldens.
absl::StatusOr<VersionId> PublishAnother(const std::filesystem::path& root, const VersionId& id, const Device& device) {
  ASSIGN_OR_RETURN(const StoredVersion stored, ReadVersion(root, id));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, BuildModel(stored));
  const at::NoGradGuard no_grad;
  at::Tensor last = model->Parameters().back().tensor;
  last.add_(at::randn(last.sizes(), at::detail::createCPUGenerator(7), at::kFloat));
  Draft draft;
  draft.manifest = stored.manifest;
  draft.weights = SaveWeights(*model, Dtype::kF32);
  draft.golden = stored.golden;
  draft.labels = stored.labels;
  draft.extra_files = stored.extra_files;
  RETURN_IF_ERROR(RecordGolden(*model, ForwardOf(*model), DecodeGoldenInput, draft.golden));
  const auto& tolerances = stored.manifest.golden_tolerances();
  if (std::none_of(tolerances.begin(), tolerances.end(),
                   [&](const v1::GoldenTolerance& row) { return row.device() == device.kind_name(); })) {
    return absl::FailedPreconditionError(absl::StrCat(id.model, " has no golden tolerance for ", device.name()));
  }
  return Publish(root, id.model, draft);
}

// Returns the logits of the first image.
absl::StatusOr<at::Tensor> Logits(const LoadedModel& loaded, const CheckSetting& setting) {
  const v1::ModelConfig& config = loaded.description->config();
  ASSIGN_OR_RETURN(const FloatArray input, DecodeGoldenInput(setting.images[0], config.preprocessing()));
  ASSIGN_OR_RETURN(const FloatArray logits, LogitsOf(*loaded.backend, config.classes(), {&input, 1}));
  return TensorOf(logits);
}

RegistryOptions OptionsFor(const std::filesystem::path& root) {
  RegistryOptions options;
  options.root = root;
  return options;
}

// A registry over a copy of one version.
class Swap {
 public:
  explicit Swap(const CheckSetting& setting)
      : setting_(setting),
        first_(setting.versions.back()),
        loader_(root_.path(), setting.device),
        registry_(
            OptionsFor(root_.path()), [this](const VersionId& id) { return loader_.Load(id); }, SteadyClock()),
        metrics_("") {
    const std::filesystem::path folder = std::filesystem::path(first_.model) / std::to_string(first_.version);
    std::filesystem::create_directories(root_.path() / folder);
    std::filesystem::copy(setting.repository / folder, root_.path() / folder);
    Metrics::Sources sources;
    sources.versions = [this](MetricFamilies& families) { AddVersionFamilies(families, registry_.List()); };
    metrics_.SetSources(std::move(sources));
  }

  absl::StatusOr<std::string> Run() {
    registry_.Poll();
    ASSIGN_OR_RETURN(ModelHandle first, registry_.Find(first_.model));
    ASSIGN_OR_RETURN(const at::Tensor before, Logits(*first, setting_));
    ASSIGN_OR_RETURN(const VersionId second, PublishAnother(root_.path(), first_, setting_.device));
    registry_.Poll();
    ASSIGN_OR_RETURN(const int64_t bytes, CheckSecond(second, before));

    // `first` represents a request in flight.
    ASSIGN_OR_RETURN(const at::Tensor pinned, Logits(*first, setting_));
    if (!at::equal(pinned, before)) return absl::InternalError("the version in use changed by the swap");
    RETURN_IF_ERROR(CheckReleased(std::move(first)));
    return absl::StrFormat("%s: version %d ready in place of %d, which was released; %d bytes", second.model,
                           second.version, first_.version, bytes);
  }

 private:
  // Checks that version 2 serves, is on the device, and gives the same results as on the CPU.
  absl::StatusOr<int64_t> CheckSecond(const VersionId& second, const at::Tensor& before) {
    ASSIGN_OR_RETURN(const ModelHandle handle, registry_.Find(first_.model));
    if (handle->id != second) return absl::InternalError(absl::StrCat("version ", handle->id.version, " serves"));
    ASSIGN_OR_RETURN(const int64_t bytes, ResidentBytes(*handle, setting_.device));
    ASSIGN_OR_RETURN(const int64_t told, BytesInMetrics(metrics_, second));
    if (told != bytes) return absl::InternalError(absl::StrCat("the metric says ", told, " bytes, not ", bytes));
    ASSIGN_OR_RETURN(const at::Tensor after, Logits(*handle, setting_));
    ASSIGN_OR_RETURN(const ModelHandle on_cpu, ModelLoader(root_.path(), Device{}).Load(second));
    ASSIGN_OR_RETURN(const at::Tensor expected, Logits(*on_cpu, setting_));
    const double error = RelativeError(after, expected);
    if (!(error <= kTolerance)) return absl::InternalError(absl::StrCat("the new logits are off by ", error));
    if (RelativeError(after, before) <= kTolerance) return absl::InternalError("the old weights still answer");
    return bytes;
  }

  // Checks that the first version is retiring while it is in use, and is removed afterwards.
  absl::Status CheckReleased(ModelHandle first) {
    {
      ASSIGN_OR_RETURN(const VersionStatus status, registry_.Get(first_.model, first_.version));
      if (status.state != v1::RETIRING) return absl::InternalError("the old version is not retiring while in use");
    }
    const std::weak_ptr<const LoadedModel> watched = first;
    first = nullptr;
    if (!watched.expired()) return absl::InternalError("the old version is still in memory after its last user");
    registry_.Poll();
    if (registry_.Get(first_.model, first_.version).ok()) return absl::InternalError("the old version is still listed");
    return absl::OkStatus();
  }

  const CheckSetting& setting_;
  const VersionId first_;
  const TemporaryRepository root_;
  ModelLoader loader_;
  Registry registry_;
  Metrics metrics_;
};

}  // namespace

void CheckWeights(const CheckSetting& setting, CheckReport& report) {
  for (const VersionId& id : setting.versions) {
    report.Run(absl::StrCat("weights of ", id.model, "/", id.version), [&] { return Weights(setting, id); });
  }
}

void CheckSwap(const CheckSetting& setting, CheckReport& report) {
  report.Run("one swap", [&] { return Swap(setting).Run(); });
}

}  // namespace vitrine
