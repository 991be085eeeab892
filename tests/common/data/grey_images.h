// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_DATA_GREY_IMAGES_H_
#define VITRINE_TESTS_COMMON_DATA_GREY_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/data/dataset.h"
#include "common/imaging/encode/encode_png.h"

namespace vitrine {

// Returns a PNG file of two equal pixels.
inline std::string GreyPng(uint8_t grey) {
  return *EncodePng(Image{.width = 2, .height = 1, .channels = 1, .pixels = {grey, grey}});
}

// Returns a PNG file of a square of equal pixels.
inline std::string GreyPng(uint8_t grey, int side) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(side) * side, grey);
  return *EncodePng(Image{.width = side, .height = side, .channels = 1, .pixels = pixels});
}

// Returns the names of all images in the order of the set.
inline std::vector<std::string> NamesOf(const Dataset& data) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < data.size(); ++i) names.push_back(data.name(i));
  return names;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_DATA_GREY_IMAGES_H_
