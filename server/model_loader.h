#ifndef VITRINE_SERVER_MODEL_LOADER_H_
#define VITRINE_SERVER_MODEL_LOADER_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/device.h"
#include "server/loaded_model.h"
#include "server/metrics.h"
#include "server/mutex.h"

namespace vitrine {

// Brings a stored version into memory and proves that it computes what its publisher computed:
// read and verify -> build -> load the weights -> move to the device -> warm up -> run the golden inputs.
// Thread-safe; computes on the calling thread alone.
class ModelLoader {
 public:
  // `metrics` may be null and outlives the loader.
  ModelLoader(std::filesystem::path root, const Device& device, Metrics* metrics = nullptr)
      : root_(std::move(root)), device_(device), metrics_(metrics) {}

  // The status names file and fault, in words that may be shown to callers of the Registry service.
  absl::StatusOr<ModelHandle> Load(const VersionId& id);

 private:
  absl::StatusOr<ModelHandle> Try(const VersionId& id);

  const std::filesystem::path root_;
  const Device device_;
  Metrics* const metrics_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelCost>> costs_ ABSL_GUARDED_BY(mutex_);  // by model
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODEL_LOADER_H_
