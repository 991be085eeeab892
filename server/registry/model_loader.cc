// SPDX-License-Identifier: Apache-2.0
#include "server/registry/model_loader.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "reference/model.h"
#include "repository/checkpoint.h"
#include "repository/stored_version.h"
#include "server/clock.h"
#include "server/observability/log.h"
#include "server/registry/memory_budget.h"
#include "server/request/picture_input.h"

namespace vitrine {
namespace {

// What a file of an honest version has beside the weights, such as a header: no reason to count more than these.
constexpr int64_t kBesideWeights = 1 << 20;

int64_t DeviceBytes(const Model& model) {
  int64_t bytes = 0;
  for (const NamedTensor& parameter : model.Parameters()) bytes += static_cast<int64_t>(parameter.tensor.nbytes());
  for (const NamedTensor& buffer : model.Buffers()) bytes += static_cast<int64_t>(buffer.tensor.nbytes());
  return bytes;
}

// Runs the goldens on as many threads as there are `cores` now, but the one alone on the calling thread: a batch is
// computed so, and what it takes is the first guess of the cost. What was measured while serving is better.
absl::Status ProveGoldens(const StoredVersion& stored, const LoadedModel& loaded, const Model& model,
                          const Device& device, const std::function<int()>& cores) {
  absl::Time begin;
  const GoldenSteps steps = {
      .before_alone =
          [&begin] {
            at::set_num_threads(1);
            begin = SteadyClock().Now();
          },
      .after_alone =
          [&begin, &cost = *loaded.cost](int64_t tokens) {
            if (cost.Predict(tokens, 0) != absl::ZeroDuration()) return;
            cost.ObserveCompute(tokens, SteadyClock().Now() - begin);
          },
  };
  if (cores != nullptr) at::set_num_threads(cores());
  const absl::Status status =
      CheckGolden(stored, model, EncodedPictureToInput, device.kind_name(), loaded.precision, steps);
  at::set_num_threads(1);
  return status;
}

absl::StatusOr<ModelHandle> BuildAndProve(StoredVersion stored, const VersionId& id, const Device& device,
                                          std::shared_ptr<ModelCost> cost, const std::function<int()>& cores,
                                          Metrics* metrics, std::shared_ptr<QueueLimits> queue_limits) {
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, BuildModel(stored.manifest, std::exchange(stored.weights, {})));
  model->RequireGrad(false);
  model->To(at::Device(device.name()));

  auto loaded = std::make_shared<LoadedModel>();
  loaded->precision = "fp32";
  loaded->cost = std::move(cost);
  // Lets lazy initialisation happen before the first request, too.
  RETURN_IF_ERROR(ProveGoldens(stored, *loaded, *model, device, cores));
  loaded->id = id;
  stored.extra_files.clear();
  loaded->golden = std::make_shared<const StoredVersion>(stored);
  loaded->queue_limits = std::move(queue_limits);
  loaded->manifest = std::move(stored.manifest);
  loaded->weights_sha256 = std::move(stored.weights_sha256);
  loaded->labels = std::move(stored.labels);
  loaded->device = device.name();
  loaded->device_bytes = DeviceBytes(*model);
  loaded->attention = model->attention();
  loaded->features = model->features();
  if (metrics != nullptr) {
    loaded->metrics = metrics->ForModel(id.model);
    loaded->version_metrics = metrics->ForVersion(id.model, id.version);
  }
  loaded->model = std::move(model);
  return loaded;
}

}  // namespace

absl::StatusOr<int64_t> ModelLoader::BytesOf(const VersionId& id) const {
  ASSIGN_OR_RETURN(const v1::Manifest manifest, ReadManifest(root_, id));
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  int64_t bytes = std::min(manifest.parameters(), kNoMemoryLimit / kFloat) * kFloat;
  // A file is read whole, and is read only if it has as many bytes as the manifest says.
  for (const v1::FileDigest& file : manifest.files()) bytes = std::max(bytes, file.bytes() - kBesideWeights);
  return bytes;
}

absl::StatusOr<ModelHandle> ModelLoader::Load(const VersionId& id) {
  // The calling thread alone, so that loading does not take the cores of those who serve: see `cores` for the goldens.
  at::set_num_threads(1);
  std::shared_ptr<ModelCost> cost;
  {
    MutexLock lock(mutex_);
    std::shared_ptr<ModelCost>& known = costs_[id.model];
    if (known == nullptr) known = std::make_shared<ModelCost>();
    cost = known;
  }
  std::string fault;
  try {
    ASSIGN_OR_RETURN(StoredVersion stored, ReadVersion(root_, id));
    absl::StatusOr<ModelHandle> loaded = BuildAndProve(std::move(stored), id, device_, std::move(cost), cores_,
                                                       metrics_, limits_ == nullptr ? nullptr : limits_->For(id.model));
    if (!absl::IsInternal(loaded.status())) return loaded;
    fault = std::string(loaded.status().message());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(id.model, "/", id.version, ": there is not enough memory to load it"));
  } catch (const std::exception& error) {
    fault = error.what();
  }
  // LibTorch's own words name files and addresses: they are for the log, not for callers.
  Log(LogLevel::kError, "load failed", {{"model", id.model}, {"version", id.version}, {"reason", fault}});
  return absl::InternalError(
      absl::StrCat(id.model, "/", id.version, ": the model does not compute; the server's log has the cause"));
}

absl::StatusOr<double> RerunGoldens(const LoadedModel& model) {
  if (model.golden == nullptr) return absl::FailedPreconditionError("the version came without goldens");
  at::set_num_threads(1);
  try {
    ASSIGN_OR_RETURN(const float drift, GoldenDrift(*model.golden, *model.model, EncodedPictureToInput, model.device));
    return drift;
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace vitrine
