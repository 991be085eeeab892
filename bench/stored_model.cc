// SPDX-License-Identifier: Apache-2.0
#include "bench/stored_model.h"

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/repository/stored_version.h"

namespace vitrine {

absl::StatusOr<std::shared_ptr<const Model>> ReadNewest(const std::string& repository, const std::string& model) {
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(repository));
  VersionId newest;
  for (const VersionId& id : versions) {
    if (id.model == model && id.version > newest.version) newest = id;
  }
  if (newest.version == 0) return absl::NotFoundError(absl::StrCat("no version of ", model, " in ", repository));
  ASSIGN_OR_RETURN(const StoredVersion stored, ReadVersion(repository, newest));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> built, BuildModel(stored));
  return std::shared_ptr<const Model>(std::move(built));
}

absl::StatusOr<engine::Engine> EngineOf(const Model& model, cpu::CpuPath path, Precision precision) {
  std::vector<const float*> weights;
  for (const at::Tensor& weight : model.weights()) weights.push_back(weight.const_data_ptr<float>());
  return engine::Engine::Make(model.program(), weights, path, {.precision = precision, .kept = {}});
}

engine::ImagePlanes ImageOf(const at::Tensor& image) {
  return {image.const_data_ptr<float>(), static_cast<int>(image.size(0)), static_cast<int>(image.size(1)),
          static_cast<int>(image.size(2))};
}

}  // namespace vitrine
