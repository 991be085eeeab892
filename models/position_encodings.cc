// SPDX-License-Identifier: Apache-2.0
#include "models/position_encodings.h"

#include <cmath>
#include <numbers>

namespace vitrine {
namespace {

constexpr int kFeatures = 32;  // number of features per coordinate

// Returns the sine of the angle for even channels, and the cosine for odd channels.
float Wave(int64_t channel, double angle) {
  return static_cast<float>(channel % 2 == 0 ? std::sin(angle) : std::cos(angle));
}

}  // namespace

FloatArray FourierEncoding(int count) {
  FloatArray encoding{.shape = {count, kFeatures}};
  for (int place = 0; place < count; ++place) {
    const double v = 2 * std::numbers::pi * (place + 1) / (count + 1e-6);
    for (int k = 0; k < kFeatures; ++k) {
      const int pair = k / 2;
      encoding.values.push_back(Wave(k, v / std::pow(10000.0, 2.0 * pair / kFeatures)));
    }
  }
  return encoding;
}

FloatArray KeyEncoding(int64_t keys, int64_t channels) {
  const int64_t q = 2 * ((channels + 3) / 4);
  FloatArray encoding{.shape = {keys, channels - q}};
  for (int64_t key = 0; key < keys; ++key) {
    for (int64_t c = 0; c < channels - q; ++c) {
      const int64_t pair = c / 2;
      encoding.values.push_back(Wave(c, key * std::pow(10000.0, -2.0 * pair / q)));
    }
  }
  return encoding;
}

}  // namespace vitrine
