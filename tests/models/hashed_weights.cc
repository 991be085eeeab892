// SPDX-License-Identifier: Apache-2.0
#include "tests/models/hashed_weights.h"

#include <cmath>
#include <functional>
#include <numeric>

namespace vitrine::testing {

std::vector<float> HashedValues(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15 + seed * 0xd1b54a32d192ed03;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    values[i] = static_cast<float>((x >> 40) & 0xffffff) / 8388608.0F - 1.0F;
  }
  return values;
}

std::vector<float> HashedWeight(std::string_view name, std::span<const int64_t> shape, bool trained, uint64_t seed) {
  const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const bool layer_norm = name.find("norm") != std::string_view::npos && name.ends_with(".weight");
  const bool near_one = trained ? layer_norm || name.ends_with(".query_scale") || name.ends_with(".context_scale")
                                : name.ends_with("running_var");
  float scale = 0.25F;
  if (near_one) {
    scale = 0.3F;
  } else if (trained && shape.size() > 1 && name.find("positions") == std::string_view::npos) {
    scale = static_cast<float>(1.5 / std::sqrt(static_cast<double>(count / shape[0])));
  }
  std::vector<float> values = HashedValues(static_cast<size_t>(count), seed);
  for (float& value : values) value = value * scale + (near_one ? 1.0F : 0.0F);
  return values;
}

}  // namespace vitrine::testing
