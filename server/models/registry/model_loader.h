// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_MODEL_LOADER_H_
#define VITRINE_SERVER_MODELS_REGISTRY_MODEL_LOADER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "engine/precision.h"
#include "server/models/registry/device.h"
#include "server/models/registry/loaded_model.h"
#include "server/models/registry/model_limits.h"
#include "server/observe/metrics.h"

namespace vitrine {

// Brings a stored version into memory and proves that it computes what its publisher computed:
// read and verify -> build -> load the weights -> move to the device -> run the golden inputs.
// Thread-safe; computes on the calling thread, and the goldens on as many as `cores` says.
class ModelLoader {
 public:
  // What it works with, all of which may be null and outlives the loader.
  struct Parts {
    Metrics* metrics = nullptr;
    ModelLimitsTable* limits = nullptr;
    // How many cores one load may compute on now, at least 1; asked on the threads that load. Null: one.
    std::function<int()> cores = nullptr;
    // In what a version is to be computed; asked likewise. Null: fp32.
    std::function<Precision(const VersionId& id)> precision_of = nullptr;
  };
  ModelLoader(std::filesystem::path root, const Device& device) : ModelLoader(std::move(root), device, Parts()) {}
  ModelLoader(std::filesystem::path root, const Device& device, Parts parts)
      : root_(std::move(root)), device_(device), parts_(std::move(parts)) {}

  // The status names file and fault, in words that may be shown to callers of the Registry service; FAILED_PRECONDITION
  // where the version cannot be computed in the precision that is asked for.
  absl::StatusOr<ModelHandle> Load(const VersionId& id);

  // Bytes that a version takes in memory at least, from its manifest alone: its weights in the precision that is asked
  // for, and what the largest of its files has beyond weights in fp32 where that is much. Errors as Load.
  absl::StatusOr<int64_t> BytesOf(const VersionId& id) const;

 private:
  Precision PrecisionOf(const VersionId& id) const;  // that is asked for

  const std::filesystem::path root_;
  const Device device_;
  const Parts parts_;
  Mutex mutex_;
  // By model and what it is computed in: versions of the same cost the same.
  std::map<std::pair<std::string, Precision>, std::shared_ptr<ModelCost>> costs_ ABSL_GUARDED_BY(mutex_);
};

// Runs the goldens of a loaded version again, on the model that serves and on the calling thread alone: how far it is
// off now, see GoldenDrift in repository/golden.h. RESOURCE_EXHAUSTED where memory ran out, which says nothing of the
// version.
absl::StatusOr<double> RerunGoldens(const LoadedModel& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_MODEL_LOADER_H_
