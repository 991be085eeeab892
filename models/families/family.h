#ifndef VITRINE_MODELS_FAMILIES_FAMILY_H_
#define VITRINE_MODELS_FAMILIES_FAMILY_H_

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "models/layers/initializer.h"
#include "models/model.h"

namespace vitrine {

// What MakeModel needs to know of a family.
struct Family {
  v1::ModelConfig::FamilyCase which = v1::ModelConfig::FAMILY_NOT_SET;
  absl::string_view name;
  // INVALID_ARGUMENT names the field at fault. Preprocessing and classes are checked already.
  absl::Status (*validate)(const v1::ModelConfig& config) = nullptr;
  // Requires a config that `validate` accepts.
  std::unique_ptr<Model> (*make)(const v1::ModelConfig& config, Initializer& initializer) = nullptr;
};

// All of them. A new family is a file beside this one, a declaration below and a row in table.cc.
std::span<const Family> Families();

absl::Status ValidateVit(const v1::ModelConfig& config);
absl::Status ValidateEit(const v1::ModelConfig& config);
absl::Status ValidateEitBaseline(const v1::ModelConfig& config);
absl::Status ValidateKv(const v1::ModelConfig& config);
absl::Status ValidateXcit(const v1::ModelConfig& config);
absl::Status ValidateXVit(const v1::ModelConfig& config);
absl::Status ValidateNull(const v1::ModelConfig& config);
std::unique_ptr<Model> MakeVit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeEit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeEitBaseline(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeKv(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeXcit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeXVit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeNull(const v1::ModelConfig& config, Initializer& initializer);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_FAMILY_H_
