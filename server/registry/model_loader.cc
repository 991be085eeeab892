// SPDX-License-Identifier: Apache-2.0
#include "server/registry/model_loader.h"

#include <malloc.h>

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/cuda_library.h"
#include "models/engine/logits.h"
#include "models/repository/golden.h"
#include "models/repository/manifest.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "server/observe/log.h"
#include "server/process/clock.h"
#include "server/registry/golden_input.h"
#include "server/registry/settings/refused_licences.h"
#include "server/registry/version/memory_budget.h"

namespace vitrine {
namespace {

// Allowance for the bytes of a file that are not weights, such as its header; BytesOf subtracts it from the size of the
// largest file.
constexpr int64_t kBesideWeights = 1 << 20;

Forward ForwardOf(const LoadedModel& model, int threads) {
  return [&model, threads](std::span<const FloatArray> images) {
    return LogitsOf(*model.backend, model.description->outputs(), images, threads);
  };
}

// Runs the golden inputs and compares the results with the stored results. On a CPU, the inputs run on as many threads
// as `cores` returns. Then runs one golden input alone: its time is the first estimate of the model's cost, if the cost
// is not yet known.
absl::Status ProveGoldens(const StoredVersion& stored, const LoadedModel& loaded, const Device& device,
                          const std::function<int()>& cores) {
  absl::Time begin;
  const GoldenRun run = {
      .few = device.kind == Device::Kind::kCpu,  // a GPU runs all goldens, because unit tests only emulate its kernels
      .before_alone = [&begin] { begin = SteadyClock().Now(); },
      .after_alone =
          [&begin, &cost = *loaded.cost](int64_t tokens) {
            if (cost.Predict(tokens, 0) != absl::ZeroDuration()) return;
            cost.ObserveCompute(tokens, SteadyClock().Now() - begin);
          },
  };
  // A CUDA device computes batches one after the other, so several threads would not be faster.
  const bool alone = cores == nullptr || device.kind != Device::Kind::kCpu;
  return CheckGolden(stored, *loaded.description, ForwardOf(loaded, alone ? 1 : cores()), DecodeGoldenInput,
                     device.kind_name(), loaded.precision, run);
}

// Converts stored weights to floats one by one. Frees each weight once the engine has taken it, so that memory use
// stays close to the model's size.
class StoredWeights : public engine::WeightSource {
 public:
  explicit StoredWeights(std::vector<StoredTensor>& weights) : weights_(weights) {}
  const float* Floats(size_t weight) override {
    weights_[weight] = ToF32(weights_[weight]);
    return weights_[weight].As<float>();
  }
  void LetGo(size_t weight) override { weights_[weight].data.reset(); }

 private:
  std::vector<StoredTensor>& weights_;
};

// Returns the precision, and the layers that the manifest keeps in fp32.
absl::StatusOr<PrecisionChoice> ChoiceOf(const v1::Manifest& manifest, Precision precision) {
  PrecisionChoice choice = {.precision = precision, .kept = {}};
  if (precision == Precision::kFp32) return choice;
  const std::string version = absl::StrCat(manifest.model(), "/", manifest.version());
  const v1::PrecisionPlan* const plan = FindPrecision(manifest, Name(precision));
  if (plan == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(version, ": the manifest has no plan for ", Name(precision),
                                                      "; `vitrine-repo quantize` publishes a version that has one"));
  }
  choice.kept.insert(plan->kept().begin(), plan->kept().end());
  return choice;
}

// Returns the numbers of grid cells and of values of the largest image that a model accepts.
LargestImage LargestOf(const v1::Preprocessing& preprocessing, int cell) {
  LargestImage largest;
  int64_t pixels = int64_t{preprocessing.fixed().height()} * preprocessing.fixed().width();
  if (preprocessing.has_native()) {
    const int64_t side = preprocessing.native().cell();
    largest.cells = preprocessing.native().max_tokens();
    pixels = largest.cells * side * side;
  } else if (cell > 0) {
    largest.cells = pixels / (int64_t{cell} * cell);
  }
  largest.pixels = pixels * preprocessing.channels();
  return largest;
}

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(WeightedModel& model, const Device& device,
                                                           const PrecisionChoice& choice) {
  StoredWeights weights(model.weights);
  if (device.kind == Device::Kind::kCpu) {
    ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
    return MakeCpuBackend(model.description.program(), weights, path, choice);
  }
  ASSIGN_OR_RETURN(const CudaLibrary* cuda, OpenCudaLibrary());
  return cuda->make_backend(device.index, model.description.program(), weights, choice,
                            LargestOf(model.description.config().preprocessing(), model.description.cell()),
                            device.batch);
}

// Returns the size of the weights in fp32, in bytes.
int64_t BytesOf(const WeightedModel& model) {
  int64_t elements = 0;
  for (const StoredTensor& weight : model.weights) elements += weight.elements();
  return elements * static_cast<int64_t>(sizeof(float));
}

// Returns the minimum number of bytes per weight; layers that stay in fp32 need more.
int64_t BytesOfWeight(Precision precision) {
  switch (precision) {
    case Precision::kInt8:
      return 1;
    case Precision::kBf16:
      return 2;
    case Precision::kFp32:
      break;
  }
  return 4;
}

absl::StatusOr<ModelHandle> BuildAndProve(StoredVersion stored, const VersionId& id, const Device& device,
                                          Precision precision, std::shared_ptr<ModelCost> cost,
                                          const ModelLoader::Parts& parts) {
  auto loaded = std::make_shared<LoadedModel>();
  ASSIGN_OR_RETURN(const PrecisionChoice choice, ChoiceOf(stored.manifest, precision));
  loaded->precision = Name(precision);
  loaded->cost = std::move(cost);
  {
    ASSIGN_OR_RETURN(WeightedModel model, FitStored(stored.manifest, std::exchange(stored.weights, {})));
    loaded->device_bytes = BytesOf(model);
    ASSIGN_OR_RETURN(loaded->backend, MakeBackend(model, device, choice));
    loaded->device_bytes -= loaded->backend->saved_bytes();
    loaded->device_memory = loaded->backend->device_memory();
    loaded->description = std::make_shared<const ModelDescription>(std::move(model.description));
  }
  // The run of the goldens also triggers lazy initialization, so that the first request does not wait for it.
  RETURN_IF_ERROR(ProveGoldens(stored, *loaded, device, parts.cores));
  loaded->id = id;
  stored.extra_files.clear();
  loaded->golden = std::make_shared<const StoredVersion>(stored);
  if (parts.limits != nullptr) loaded->queue_limits = parts.limits->For(id.model);
  loaded->manifest = std::move(stored.manifest);
  loaded->weights_sha256 = std::move(stored.weights_sha256);
  loaded->labels = std::move(stored.labels);
  for (const std::string& label : loaded->labels) loaded->longest_label = std::max(loaded->longest_label, label.size());
  loaded->device = device.name();
  loaded->attention = loaded->description->attention();
  loaded->features = loaded->description->features();
  if (parts.metrics != nullptr) {
    loaded->metrics = parts.metrics->ForModel(id.model);
    loaded->version_metrics = loaded->metrics->ForVersion(id.version);
  }
  return loaded;
}

}  // namespace

Precision ModelLoader::PrecisionOf(const VersionId& id, const v1::Manifest& manifest) const {
  if (const auto asked = parts_.precision_of == nullptr ? std::nullopt : parts_.precision_of(id)) return *asked;
  const Precision precision = DefaultPrecision(device_);
  const auto& rows = manifest.golden_tolerances();
  const bool has_tolerance = std::any_of(rows.begin(), rows.end(), [&](const v1::GoldenTolerance& row) {
    return row.device() == device_.kind_name() && row.precision() == Name(precision);
  });
  return has_tolerance && FindPrecision(manifest, Name(precision)) != nullptr ? precision : Precision::kFp32;
}

absl::StatusOr<int64_t> ModelLoader::BytesOf(const VersionId& id) const {
  ASSIGN_OR_RETURN(const v1::Manifest manifest, ReadManifest(root_, id));
  RETURN_IF_ERROR(CheckLicence(manifest, parts_.refused_licences));
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  const int64_t parameters = std::min(manifest.parameters(), kNoMemoryLimit / kFloat);
  // A file whose size matches the manifest is read completely, so the largest file determines how much memory is needed
  // for reading.
  int64_t largest = 0;
  for (const v1::FileDigest& file : manifest.files()) largest = std::max(largest, file.bytes());
  const int64_t beyond = std::max<int64_t>(std::max<int64_t>(largest - kBesideWeights, 0) - parameters * kFloat, 0);
  return parameters * BytesOfWeight(PrecisionOf(id, manifest)) + beyond;
}

std::shared_ptr<ModelCost> ModelLoader::CostOf(const std::string& model, Precision precision) {
  MutexLock lock(mutex_);
  std::shared_ptr<ModelCost>& known = costs_[{model, precision}];
  if (known == nullptr) known = std::make_shared<ModelCost>();
  return known;
}

absl::StatusOr<ModelHandle> ModelLoader::Load(const VersionId& id) {
  // Loading runs on the calling thread, so that it takes few cores from serving threads. Only the run of the goldens
  // uses further threads.
  std::string fault;
  try {
    ASSIGN_OR_RETURN(StoredVersion stored, ReadVersion(root_, id));
    RETURN_IF_ERROR(
        CheckLicence(stored.manifest, parts_.refused_licences));  // the manifest may have changed since BytesOf
    for (const std::string& field : stored.unknown) {
      Log(LogLevel::kInfo, "an unknown field of a manifest is ignored",
          {{"model", id.model}, {"version", id.version}, {"field", field}});
    }
    const Precision precision = PrecisionOf(id, stored.manifest);
    if (precision != DefaultPrecision(device_) && (parts_.precision_of == nullptr || !parts_.precision_of(id))) {
      Log(LogLevel::kWarning, "a version is computed in fp32, because its manifest does not allow bf16 on this device",
          {{"model", id.model}, {"version", id.version}, {"remedy", "vitrine-repo quantize --precision bf16"}});
    }
    absl::StatusOr<ModelHandle> loaded =
        BuildAndProve(std::move(stored), id, device_, precision, CostOf(id.model, precision), parts_);
    // Returns the memory of the file's weights to the system. free() does not do this: it returns only memory at the
    // end of the heap, and other blocks are in use there.
    malloc_trim(0);
    if (!absl::IsInternal(loaded.status())) return loaded;
    fault = std::string(loaded.status().message());
  } catch (const std::exception& error) {
    fault = error.what();
  }
  // Library messages contain files and addresses: they are logged, not returned to callers.
  Log(LogLevel::kError, "load failed", {{"model", id.model}, {"version", id.version}, {"reason", fault}});
  return absl::InternalError(
      absl::StrCat(id.model, "/", id.version, ": the model fails to compute; the server's log has the cause"));
}

absl::StatusOr<double> RerunGoldens(const LoadedModel& model) {
  if (model.golden == nullptr) return absl::FailedPreconditionError("the version has no goldens");
  try {
    ASSIGN_OR_RETURN(const float drift, GoldenDrift(*model.golden, *model.description, ForwardOf(model, 1),
                                                    DecodeGoldenInput, model.precision));
    return drift;
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace vitrine
