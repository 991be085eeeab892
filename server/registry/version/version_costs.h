// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_VERSION_COSTS_H_
#define VITRINE_SERVER_REGISTRY_VERSION_VERSION_COSTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "models/program/program.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

struct LoadedModel;
struct VersionStatus;

// Cost of an image for one version, by size. Builds the version's program once and caches the counts of its operations.
// Thread-safe.
class VersionCosts {
 public:
  // Maximum number of cached sizes. At the maximum, each new size replaces another size.
  static constexpr size_t kMost = 1024;

  // Returns the cost of one image of size `size`. `config` is the config of the version, the same in every call.
  // INVALID_ARGUMENT: the size is smaller than a patch.
  absl::StatusOr<v1::PictureCost> Of(const v1::ModelConfig& config, const v1::InputSize& size);

  size_t counted() const;  // number of sizes counted since the start

 private:
  mutable Mutex mutex_;
  std::optional<program::Program> program_ ABSL_GUARDED_BY(mutex_);               // set by the first call of Of
  std::map<std::pair<int, int>, v1::PictureCost> costs_ ABSL_GUARDED_BY(mutex_);  // counted costs, by height and width
  size_t counted_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the tokens and multiply-adds of an image of this size. INVALID_ARGUMENT: the model does not accept the size.
// Should be called on worker threads, because the first call for a size may compute for milliseconds.
absl::StatusOr<v1::PictureCost> CostOf(const LoadedModel& model, const v1::InputSize& size);

// Adds the cost of each size in `request` to `answer`. INVALID_ARGUMENT: too many sizes, or a size that the model does
// not accept. NOT_FOUND: the version is not in memory. Should be called on worker threads.
absl::Status AddCosts(const v1::GetModelRequest& request, const VersionStatus& status, v1::ModelVersion& answer);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_VERSION_COSTS_H_
