// SPDX-License-Identifier: Apache-2.0
// Finds the architectures whose tensors have the names and shapes of given tensors.
#include <algorithm>

#include "models/repository/foreign/import_names.h"

namespace vitrine {

bool FitsBody(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors) {
  const auto shapes = ForeignShapes(source, config, tensors);
  if (!shapes.ok()) return false;
  const bool has_all = std::all_of(shapes->begin(), shapes->end(), [&](const auto& wanted) {
    if (!IsOfBody(source, wanted.first)) return true;
    const auto found = tensors.find(wanted.first);
    return found != tensors.end() && found->second.shape == wanted.second;
  });
  return has_all && std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
           return !IsOfBody(source, tensor.first) || shapes->contains(tensor.first) ||
                  IsIgnorable(source, tensor.first, tensor.second);
         });
}

std::vector<std::string> FittingArchs(ForeignSource source, const TensorMap& tensors) {
  std::vector<std::string> fitting = ForeignArchs(source);
  std::erase_if(fitting, [&](const std::string& arch) {
    const absl::StatusOr<v1::ModelConfig> config = ForeignConfig(source, arch, /*classes=*/1);
    return !config.ok() || !FitsBody(source, *config, tensors);
  });
  return fitting;
}

}  // namespace vitrine
