// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_MODEL_LOADER_H_
#define VITRINE_SERVER_REGISTRY_MODEL_LOADER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "models/engine/precision.h"
#include "server/observe/metrics.h"
#include "server/registry/device.h"
#include "server/registry/settings/model_limits.h"
#include "server/registry/version/loaded_model.h"

namespace vitrine {

// Loads a stored version into memory and verifies that it computes the results that its publisher stored. The steps
// are: read and verify, build, load the weights, move to the device, run the golden inputs. Thread-safe. Loads on the
// calling thread; on a CPU, the golden inputs are divided among at most as many threads as Parts::cores returns.
class ModelLoader {
 public:
  // Collaborators and options of the loader. A pointer may be null; otherwise its object must outlive the loader.
  struct Parts {
    Metrics* metrics = nullptr;
    ModelLimitsTable* limits = nullptr;
    // Returns the number of cores that one load may use now, at least 1; called on loading threads. Null: one core.
    std::function<int()> cores = nullptr;
    // Returns the precision to compute a version in; called on loading threads. Null or nullopt: DefaultPrecision of
    // the device if the manifest has a plan and a golden tolerance for this precision, otherwise fp32.
    std::function<std::optional<Precision>(const VersionId& id)> precision_of = nullptr;
    std::vector<std::string> refused_licences = {};  // patterns (see CheckLicence)
  };
  ModelLoader(std::filesystem::path root, const Device& device) : ModelLoader(std::move(root), device, Parts()) {}
  ModelLoader(std::filesystem::path root, const Device& device, Parts parts)
      : root_(std::move(root)), device_(device), parts_(std::move(parts)) {}

  // Loads a version. An error names the file and the fault, in words that callers of the Registry service may see.
  // FAILED_PRECONDITION: the version cannot be computed in the requested precision, or its licence is refused.
  absl::StatusOr<ModelHandle> Load(const VersionId& id);

  // Returns the minimum bytes that a version takes in memory, computed from its manifest alone. This is the size of its
  // weights in the requested precision. If its largest file is larger than the fp32 weights and 1 MiB together, the
  // excess is added. For errors, see Load.
  absl::StatusOr<int64_t> BytesOf(const VersionId& id) const;

 private:
  Precision PrecisionOf(const VersionId& id, const v1::Manifest& manifest) const;

  std::shared_ptr<ModelCost> CostOf(const std::string& model, Precision precision);

  const std::filesystem::path root_;
  const Device device_;
  const Parts parts_;
  Mutex mutex_;
  // Costs by model and precision; versions with equal keys share one object.
  std::map<std::pair<std::string, Precision>, std::shared_ptr<ModelCost>> costs_ ABSL_GUARDED_BY(mutex_);
};

// Runs the goldens of a loaded version again, with the serving model, on the calling thread only. Returns the drift:
// see GoldenDrift in models/repository/golden.h. RESOURCE_EXHAUSTED: the device ran out of memory, which does not mean
// that the version is bad.
absl::StatusOr<double> RerunGoldens(const LoadedModel& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_MODEL_LOADER_H_
