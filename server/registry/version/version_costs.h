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

// Cost of an image for one version, by size. The version's program is built once, and its operations are counted once
// per size. Thread-safe.
class VersionCosts {
 public:
  // Most sizes kept. Beyond that another size is dropped for each new one.
  static constexpr size_t kMost = 1024;

  // Returns the cost. INVALID_ARGUMENT for a size smaller than a patch.
  absl::StatusOr<v1::PictureCost> Of(const v1::ModelConfig& config, const v1::InputSize& size);

  size_t counted() const;  // number of sizes counted since the start

 private:
  mutable Mutex mutex_;
  std::optional<program::Program> program_ ABSL_GUARDED_BY(mutex_);               // set at the first size
  std::map<std::pair<int, int>, v1::PictureCost> costs_ ABSL_GUARDED_BY(mutex_);  // by height and width
  size_t counted_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the tokens and multiply-adds of an image of this size. INVALID_ARGUMENT if the model does not take it. May
// compute for milliseconds the first time: for worker threads.
absl::StatusOr<v1::PictureCost> CostOf(const LoadedModel& model, const v1::InputSize& size);

// Adds the cost of each size in `request` to `answer`. INVALID_ARGUMENT for too many sizes or one that the model does
// not take; NOT_FOUND if the version is not in memory. For worker threads.
absl::Status AddCosts(const v1::GetModelRequest& request, const VersionStatus& status, v1::ModelVersion& answer);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_VERSION_COSTS_H_
