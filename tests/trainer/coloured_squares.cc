// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/coloured_squares.h"

#include <google/protobuf/text_format.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/imaging/encode/encode_png.h"
#include "trainer/sampler.h"

namespace vitrine {

const ColouredSquares kTrainSquares(96, 1);
const ColouredSquares kTestSquares(48, 2);

ColouredSquares::ColouredSquares(int64_t size, uint64_t seed) : size_(size), seed_(seed) {
  labels_ = {"red", "green", "blue"};
}

std::string ColouredSquares::name(int64_t index) const {
  return absl::StrCat("square ", index);
}

absl::StatusOr<Image> ColouredSquares::image(int64_t index) const {
  Image square{.width = 16, .height = 16, .channels = 3, .pixels = std::vector<uint8_t>(16 * 16 * 3)};
  CounterRandom random(seed_, 0, index);
  for (size_t i = 0; i < square.pixels.size(); ++i) {
    const bool bright = static_cast<int>(i % 3) == label(index);
    square.pixels[i] = static_cast<uint8_t>(random.Below(120) + (bright ? 110 : 60));
  }
  return square;
}

absl::StatusOr<std::string> ColouredSquares::encoded(int64_t index) const {
  return EncodePng(*image(index));
}

void WriteImageFolder(const ColouredSquares& squares, const std::filesystem::path& folder) {
  for (int64_t i = 0; i < squares.size(); ++i) {
    const std::filesystem::path file = folder / squares.labels()[squares.label(i)] / absl::StrCat(i, ".png");
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << *squares.encoded(i);
  }
}

v1::Recipe SmallRecipe() {
  v1::Recipe recipe;
  google::protobuf::TextFormat::ParseFromString(R"(
    name: "small"
    model: "eit34-mini-cifar10"
    model_overrides {
      preprocessing { native { cell: 4 min_tokens: 4 max_tokens: 36 } }
      classes: 3
      eit { width: 24 depth: 2 heads: 2 mlp_width: 48 grid_rows: 4 grid_columns: 4 }
    }
    data { hint: "imagefolder:DIR" name: "coloured squares" }
    optimizer { kind: ADAMW lr: 3e-3 weight_decay: 0.05 }
    schedule { warmup_steps: 3 }
    label_smoothing: 0.1
    batch: 16
    epochs: 4
    clip_norm: 1
    dropout: 0.1
    augmentation { flip: true crop_padding: 2 min_scale: 0.8 max_stretch: 1.1 }
    sizes { height: 16 width: 16 weight: 0.6 }
    sizes { height: 8 width: 16 weight: 0.2 }
    sizes { height: 16 width: 8 weight: 0.2 }
    seed: 7
  )",
                                                &recipe);
  return recipe;
}

}  // namespace vitrine
