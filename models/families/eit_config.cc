// SPDX-License-Identifier: Apache-2.0
#include "models/families/eit_config.h"

namespace vitrine {

bool ConvolvesPixels(const v1::EitConfig& eit) {
  return !eit.has_conv_projection() || eit.conv_projection();
}
bool ConvolvesChannels(const v1::EitConfig& eit) {
  return !eit.has_conv_channels() || eit.conv_channels();
}
bool HasPositions(const v1::EitConfig& eit) {
  return !eit.has_positions() || eit.positions();
}

int AttentionChannels(const v1::EitConfig& eit, int block) {
  if (!ConvolvesChannels(eit) || block == eit.depth()) return eit.width();
  const int units = eit.width() / eit.heads();
  switch (eit.schedule()) {
    case v1::EitConfig::INCREASING:
      return units * (eit.depth() - block) / eit.depth() * eit.heads();
    case v1::EitConfig::INVARIANT:
      return units / 2 * eit.heads();
    default:
      return units * block / eit.depth() * eit.heads();
  }
}

}  // namespace vitrine
