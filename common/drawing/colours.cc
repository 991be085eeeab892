// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/colours.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vitrine {
namespace {

constexpr size_t kKnots = 33;
// Evenly spaced colours of the sequential scale (inferno) and of the diverging scale, as 0xRRGGBB.
// server/page/colour.js has copies of both tables.
constexpr uint32_t kInferno[kKnots] = {
    0x000004, 0x040312, 0x0b0724, 0x150b37, 0x210c4a, 0x2f0a5b, 0x3d0965, 0x4a0c6b, 0x57106e, 0x64156e, 0x71196e,
    0x7d1e6d, 0x8a226a, 0x972766, 0xa32c61, 0xb0315b, 0xbc3754, 0xc63d4d, 0xd04545, 0xda4e3c, 0xe35933, 0xeb6429,
    0xf1711f, 0xf67e14, 0xf98c0a, 0xfb9b06, 0xfcaa0f, 0xfbba1f, 0xf9c932, 0xf5d949, 0xf2e865, 0xf3f586, 0xfcffa4};
// Colours on two straight lines in CIELAB (D65): from (39, 12, -51) to (97, 0, 0), and from there to (39, 60, 38).
constexpr uint32_t kBlueToRed[kKnots] = {
    0x135baf, 0x3163b4, 0x456cb9, 0x5575bd, 0x647ec2, 0x7188c6, 0x7f91cb, 0x8b9bcf, 0x98a5d4, 0xa3aed8, 0xafb8dc,
    0xbbc2e1, 0xc7cce5, 0xd3d7e9, 0xdfe1ee, 0xeaecf2, 0xf6f6f6, 0xf5e9e7, 0xf4dcd9, 0xf2cfca, 0xf0c3bc, 0xedb6ae,
    0xeaa9a0, 0xe69c92, 0xe39186, 0xdf8478, 0xda776b, 0xd56a5e, 0xcf5c52, 0xca4e45, 0xc43f39, 0xbd2d2d, 0xb61622};

// Interpolates `steps` colours. The other elements of the result are equal to the last of these colours.
std::array<Colour, 256> Interpolated(const uint32_t (&knots)[kKnots], size_t steps) {
  std::array<Colour, 256> colours;
  for (size_t i = 0; i < colours.size(); ++i) {
    const double place = static_cast<double>(std::min(i, steps - 1) * (kKnots - 1)) / static_cast<double>(steps - 1);
    const size_t low = std::min(static_cast<size_t>(place), kKnots - 2);
    for (size_t channel = 0; channel < 3; ++channel) {
      const auto at = [&](size_t knot) { return static_cast<double>(knots[knot] >> (16 - 8 * channel) & 0xff); };
      const double between = place - static_cast<double>(low);
      colours[i][channel] = static_cast<uint8_t>(std::lround(std::lerp(at(low), at(low + 1), between)));
    }
  }
  return colours;
}

const std::array<Colour, 256>& ColoursOf(bool diverging) {
  static const std::array<Colour, 256> inferno = Interpolated(kInferno, 256);
  static const std::array<Colour, 256> blue_to_red = Interpolated(kBlueToRed, 255);
  return diverging ? blue_to_red : inferno;
}

}  // namespace

ColourScale::ColourScale(const ColourRange& range)
    : colours_(ColoursOf(range.diverging)), last_(range.diverging ? 254 : 255), factor_(0), zero_(0) {
  const double span = range.high - range.low();
  // Minimum width of a range. For a smaller range, the factor would overflow fp32, so the range counts as empty.
  constexpr double kLeast = 1e-35;
  if (span > kLeast) factor_ = static_cast<float>(last_ / span);
  if (range.diverging || !(span > kLeast)) zero_ = range.diverging ? 127 : 128;
}

void ColourScale::FindSteps(std::span<const float> values, uint8_t* steps) const {
  const float last = last_, factor = factor_, zero = zero_;
  for (size_t i = 0; i < values.size(); ++i) {
    // This order of arguments converts NaN, which interpolation of huge values may give, to 0.
    const float step = std::min(last, std::max(0.0f, values[i] * factor + zero));
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): unlike lround, this is vectorized; step is not negative
    steps[i] = static_cast<uint8_t>(static_cast<int>(step + 0.5f));
  }
}

void DrawColourBar(const Canvas& canvas, const Rect& bar, const ColourRange& range, bool upright) {
  // The bar has a range of its own, so that it shows all colours even if the map's values are equal.
  const ColourRange whole = {.high = 1, .diverging = range.diverging};
  const ColourScale scale(whole);
  const int length = upright ? bar.height : bar.width;
  for (int i = 0; i < length; ++i) {
    const double place = length > 1 ? i / (length - 1.0) : 0.5;
    const float value = static_cast<float>(std::lerp(whole.low(), whole.high, place));
    uint8_t step = 0;
    scale.FindSteps({&value, 1}, &step);
    const Rect line = upright ? Rect{bar.x, bar.bottom() - 1 - i, bar.width, 1} : Rect{bar.x + i, bar.y, 1, bar.height};
    canvas.Fill(line, scale.colours()[step]);
  }
}

}  // namespace vitrine
