// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/version_costs.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/model_description.h"
#include "models/workload/conventions.h"
#include "models/workload/of_program.h"
#include "server/registry/version/loaded_model.h"
#include "server/registry/version/version_status.h"

namespace vitrine {
namespace {

constexpr int kMostSizes = 64;

}  // namespace

absl::StatusOr<v1::PictureCost> VersionCosts::Of(const v1::ModelConfig& config, const v1::InputSize& size) {
  const std::pair<int, int> key(size.height(), size.width());
  // The lock is held while the operations of a program are counted, so that several callers with new sizes together use
  // only one core.
  MutexLock lock(mutex_);
  if (const auto known = costs_.find(key); known != costs_.end()) return known->second;
  if (!program_.has_value()) {
    ASSIGN_OR_RETURN(program_, ProgramOf(config));
  }
  const int cell = program_->cell();
  if (size.height() < std::max(cell, 1) || size.width() < std::max(cell, 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an image of ", size.height(), " x ", size.width(), " pixels has no cell of ", cell, " pixels"));
  }
  v1::PictureCost cost;
  *cost.mutable_input() = size;
  const int64_t cells = cell == 0 ? 1 : int64_t{size.height() / cell} * (size.width() / cell);
  cost.set_tokens(static_cast<int32_t>(cells + (cell > 0 ? program_->prefix_tokens() : 0)));
  cost.set_macs(Macs(WorkloadOf(*program_, {.height = size.height(), .width = size.width()}, Form::kExecuted)));
  ++counted_;
  if (costs_.size() == kMost) costs_.erase(costs_.begin());
  return costs_.emplace(key, cost).first->second;
}

size_t VersionCosts::counted() const {
  MutexLock lock(mutex_);
  return counted_;
}

absl::StatusOr<v1::PictureCost> CostOf(const LoadedModel& model, const v1::InputSize& size) {
  RETURN_IF_ERROR(model.description->GridFor(size.height(), size.width()).status());
  return model.costs->Of(model.manifest.config(), size);
}

absl::Status AddCosts(const v1::GetModelRequest& request, const VersionStatus& status, v1::ModelVersion& answer) {
  if (request.cost_of().empty()) return absl::OkStatus();
  if (request.cost_of_size() > kMostSizes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cost_of has ", request.cost_of_size(), " sizes; at most ", kMostSizes, " are allowed"));
  }
  if (status.model == nullptr) {
    return absl::NotFoundError(absl::StrCat("model \"", status.id.model, "\" version ", status.id.version,
                                            " is not in memory, so its cost is unknown"));
  }
  for (const v1::InputSize& size : request.cost_of()) {
    ASSIGN_OR_RETURN(*answer.add_costs(), CostOf(*status.model, size));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
