// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/rand_augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

constexpr Colour kImageNetMean = {124, 116, 104};

v1::RandAugment Settings(int operations, float magnitude, float deviation, float probability) {
  v1::RandAugment settings;
  settings.set_operations(operations);
  settings.set_magnitude(magnitude);
  settings.set_magnitude_deviation(deviation);
  settings.set_probability(probability);
  return settings;
}

std::string Key(const Image& image) {
  return {image.pixels.begin(), image.pixels.end()};
}

// Returns how many random numbers `call` draws from the generator that it gets; -1 if it draws a thousand or more.
template <typename F>
int DrawnBy(const F& call) {
  CounterRandom used(1, 1, 1), fresh(1, 1, 1);
  call(used);
  const uint64_t next = used.Next();
  for (int drawn = 0; drawn < 1000; ++drawn) {
    if (fresh.Next() == next) return drawn;
  }
  return -1;
}

TEST(RandAugmented, AlwaysDrawsFiveNumbersPerOperation) {
  const Image source = SmoothImage(8, 8, 3);
  for (const float probability : {0.0F, 0.5F, 1.0F}) {
    for (const int operations : {0, 1, 2, 5}) {
      EXPECT_EQ(DrawnBy([&](CounterRandom& random) {
                  RandAugmented(source, Settings(operations, 9, 0.5F, probability), kImageNetMean, random);
                }),
                5 * operations);
    }
  }
}

// Every sample gets exactly one operation. The expected images are the results of the fifteen operations at the set
// magnitude, in both directions. Each expected image must occur about as often as a uniform choice predicts. No other
// image may occur.
TEST(RandAugmented, ChoosesOperationsUniformlyAtTheMagnitude) {
  const Image source = SmoothImage(24, 20, 3);
  std::map<std::string, double> expected;
  for (const RandOperation& operation : RandOperations()) {
    for (const bool negative : {false, true})
      expected[Key(operation.apply(source, 7, negative, kImageNetMean))] += 1 / 30.0;
  }
  EXPECT_GE(expected.size(), 24u);
  constexpr int kSamples = 6000;
  std::map<std::string, int> counts;
  for (int sample = 0; sample < kSamples; ++sample) {
    CounterRandom random(5, 0, sample);
    ++counts[Key(RandAugmented(source, Settings(1, 7, 0, 1), kImageNetMean, random))];
  }
  EXPECT_EQ(counts.size(), expected.size());
  for (const auto& [pixels, share] : expected) {
    EXPECT_NEAR(counts[pixels], share * kSamples, 4.5 * std::sqrt(share * kSamples));
  }
}

TEST(RandAugmented, ChangesImagesWithItsProbability) {
  const Image source = SmoothImage(12, 12, 3);
  v1::RandAugment settings = Settings(1, 9, 0, 0);
  settings.clear_probability();
  int changed = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    CounterRandom random(6, 0, sample), still(6, 0, sample);
    changed += RandAugmented(source, settings, kImageNetMean, random).pixels != source.pixels;
    EXPECT_EQ(RandAugmented(source, Settings(3, 9, 0.5F, 0), kImageNetMean, still).pixels, source.pixels);
  }
  EXPECT_NEAR(changed, 1000, 120) << "one half by default";
}

// The result of SolarizeAdd shows the magnitude. Magnitudes have deviation 0.5 around 9 and are clamped at 10.
TEST(RandAugmented, DrawsMagnitudesAroundTheSetting) {
  const Image source = PlainImage(1, 1, {0});
  std::map<int, int> counts;
  for (int sample = 0; sample < 60000; ++sample) {
    CounterRandom random(7, 0, sample), look(7, 0, sample);
    const int chosen = static_cast<int>(look.Below(15));
    if (RandOperations()[chosen].name != "SolarizeAdd") continue;
    ++counts[RandAugmented(source, Settings(1, 9, 0.5F, 1), kImageNetMean, random).pixels[0]];
  }
  int total = 0, below = 0;
  for (const auto& [value, count] : counts) {
    total += count;
    below += value < 99 ? count : 0;
  }
  EXPECT_GT(total, 3500);
  EXPECT_NEAR(static_cast<double>(below) / total, 0.5, 0.04) << "half of the magnitudes are below 9";
  EXPECT_NEAR(static_cast<double>(counts[110]) / total, 0.0228, 0.01) << "the tail above 10 is clamped to it";
  EXPECT_LT(counts.rbegin()->first, 111);
  EXPECT_GT(counts.begin()->first, 70);
}

TEST(Jittered, DrawsFiveNumbersAndKeepsImagesWithoutAFactor) {
  const Image source = SmoothImage(16, 16, 3);
  CounterRandom still(1, 0, 0);
  EXPECT_EQ(Jittered(source, 0, still).pixels, source.pixels);
  EXPECT_EQ(DrawnBy([&](CounterRandom& random) { Jittered(source, 0.4, random); }), 5);
}

TEST(Jittered, ChangesBrightnessContrastAndSaturation) {
  const Image source = SmoothImage(16, 16, 3);
  std::set<std::pair<int64_t, int64_t>> orders;
  for (int sample = 0; sample < 200; ++sample) {
    CounterRandom random(3, 0, sample), look(3, 0, sample);
    const auto result = Jittered(source, 0.4, random).pixels;
    const int64_t last = look.Below(3), middle = look.Below(2);
    std::vector<double> factors;
    for (int i = 0; i < 3; ++i) factors.push_back(look.Uniform(0.6, 1.4));
    using Change = Image (*)(Image, double);
    std::vector<Change> changes = {Brighten, Contrast, Saturate};
    std::swap(changes[2], changes[last]);
    std::swap(changes[1], changes[middle]);
    Image expected = source;
    for (int i = 0; i < 3; ++i) expected = changes[i](expected, factors[i]);
    EXPECT_EQ(result, expected.pixels);
    orders.insert({last, middle});
  }
  EXPECT_EQ(orders.size(), 6u);
}

}  // namespace
}  // namespace vitrine
