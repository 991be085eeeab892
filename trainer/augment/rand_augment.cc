// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/rand_augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "trainer/augment/distributions.h"

namespace vitrine {
namespace {

constexpr double kHighest = 10;  // maximum magnitude

double Signed(double value, bool negative) {
  return negative ? -value : value;
}

// Returns the factor of an operation such as Saturate. A factor of 1 does not change the image.
double Factor(double magnitude, bool negative) {
  return std::max(0.1, 1 + Signed(magnitude / kHighest * 0.9, negative));
}

double Share(double magnitude, double most, bool negative) {
  return Signed(magnitude / kHighest * most, negative);
}

// All operations must have the same signature, which takes the image by value, although some operations only read the
// image.
// NOLINTBEGIN(performance-unnecessary-value-param)
constexpr RandOperation kOperations[] = {
    {"AutoContrast", [](Image x, double, bool, const Colour&) { return AutoContrast(std::move(x)); }},
    {"Equalize", [](Image x, double, bool, const Colour&) { return Equalize(std::move(x)); }},
    {"Invert", [](Image x, double, bool, const Colour&) { return Invert(std::move(x)); }},
    {"Rotate",
     [](Image x, double magnitude, bool negative, const Colour& fill) {
       return Warp(x, AffineMapping::Rotation(Share(magnitude, 30, negative), x.width, x.height), fill);
     }},
    {"Posterize",
     [](Image x, double magnitude, bool, const Colour&) {
       return Posterize(std::move(x), std::max(1, 4 - static_cast<int>(magnitude / kHighest * 4)));
     }},
    {"Solarize",
     [](Image x, double magnitude, bool, const Colour&) {
       return Solarize(std::move(x), 256 - static_cast<int>(magnitude / kHighest * 256));
     }},
    {"SolarizeAdd",
     [](Image x, double magnitude, bool, const Colour&) {
       return SolarizeAdd(std::move(x), static_cast<int>(magnitude / kHighest * 110));
     }},
    {"Color", [](Image x, double magnitude, bool negative,
                 const Colour&) { return Saturate(std::move(x), Factor(magnitude, negative)); }},
    {"Contrast", [](Image x, double magnitude, bool negative,
                    const Colour&) { return Contrast(std::move(x), Factor(magnitude, negative)); }},
    {"Brightness", [](Image x, double magnitude, bool negative,
                      const Colour&) { return Brighten(std::move(x), Factor(magnitude, negative)); }},
    {"Sharpness",
     [](Image x, double magnitude, bool negative, const Colour&) { return Sharpen(x, Factor(magnitude, negative)); }},
    {"ShearX", [](Image x, double magnitude, bool negative,
                  const Colour& fill) { return Warp(x, {.b = Share(magnitude, 0.3, negative)}, fill); }},
    {"ShearY", [](Image x, double magnitude, bool negative,
                  const Colour& fill) { return Warp(x, {.d = Share(magnitude, 0.3, negative)}, fill); }},
    {"TranslateX", [](Image x, double magnitude, bool negative,
                      const Colour& fill) { return Warp(x, {.c = Share(magnitude, 0.45, negative) * x.width}, fill); }},
    {"TranslateY",
     [](Image x, double magnitude, bool negative, const Colour& fill) {
       return Warp(x, {.f = Share(magnitude, 0.45, negative) * x.height}, fill);
     }},
};
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace

std::span<const RandOperation> RandOperations() {
  return kOperations;
}

Image RandAugmented(Image image, const v1::RandAugment& settings, const Colour& fill, CounterRandom& random) {
  const double probability = settings.has_probability() ? settings.probability() : 0.5;
  for (int i = 0; i < settings.operations(); ++i) {
    const RandOperation& operation = kOperations[random.Below(std::size(kOperations))];
    const bool acts = random.Uniform() < probability;
    const double deviation = settings.magnitude_deviation() * DrawNormal(random);
    const bool negative = random.Uniform() < 0.5;
    if (!acts) continue;
    const double magnitude = std::clamp(settings.magnitude() + deviation, 0.0, kHighest);
    image = operation.apply(std::move(image), magnitude, negative, fill);
  }
  return image;
}

Image Jittered(Image image, double strength, CounterRandom& random) {
  using Change = Image (*)(Image, double);
  std::array<Change, 3> changes = {Brighten, Contrast, Saturate};
  for (int i = 2; i > 0; --i) std::swap(changes[i], changes[random.Below(i + 1)]);
  for (const Change change : changes) image = change(std::move(image), random.Uniform(1 - strength, 1 + strength));
  return image;
}

}  // namespace vitrine
