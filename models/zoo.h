// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_H_
#define VITRINE_MODELS_ZOO_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A model that Vitrine knows by name. To add one, add a row in models/zoo/; tests and `vitrine-train list` include it
// automatically.
struct ZooRow {
  std::string_view name;  // [a-z0-9.-]+: "eit34-mini-cifar10", "kv-pos-mnist-p7-d64-l2"
  v1::ModelConfig config;
  int64_t parameters = 0;   // exact, by the paper's definition; checked by tests
  std::string_view source;  // paper and table
};

std::span<const ZooRow> Zoo();

// Finds a variant. NOT_FOUND lists the three nearest names.
absl::StatusOr<ZooRow> FindVariant(std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ZOO_H_
