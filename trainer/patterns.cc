// SPDX-License-Identifier: Apache-2.0
#include "trainer/patterns.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

class Patterns final : public Dataset {
 public:
  Patterns(Size size, int channels) : size_(size), channels_(channels) { labels_ = {"pattern"}; }

  int64_t size() const override { return 7; }
  int label(int64_t) const override { return 0; }
  std::string name(int64_t index) const override { return absl::StrCat("pattern ", index); }

  absl::StatusOr<Image> image(int64_t index) const override {
    Image pattern{.width = size_.width, .height = size_.height, .channels = channels_, .pixels = {}};
    CounterRandom random(0, 0, static_cast<uint64_t>(index));
    const auto centre_x = static_cast<int>(random.Below(size_.width));
    const auto centre_y = static_cast<int>(random.Below(size_.height));
    const int radius = size_.height / 3 + 1;
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        const int right = x - centre_x, down = y - centre_y;
        const bool inside = right * right + down * down < radius * radius;
        const int ramps[] = {160 * x / size_.width, inside ? 160 : 0, 160 * y / size_.height};
        for (int channel = 0; channel < channels_; ++channel) {
          pattern.pixels.push_back(static_cast<uint8_t>(ramps[(channel + index) % 3] + random.Below(64)));
        }
      }
    }
    return pattern;
  }

  absl::StatusOr<std::string> encoded(int64_t index) const override {
    ASSIGN_OR_RETURN(const Image pattern, image(index));
    return EncodePng(pattern);
  }

 private:
  const Size size_;
  const int channels_;
};

}  // namespace

std::unique_ptr<Dataset> MakePatterns(Size size, int channels) {
  return std::make_unique<Patterns>(size, channels);
}

}  // namespace vitrine
