// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_COLOURED_SQUARES_H_
#define VITRINE_TESTS_TRAINER_COLOURED_SQUARES_H_

#include <filesystem>
#include <string>

#include "common/data/dataset.h"
#include "tests/scratch_folder.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Noisy images of 16x16 pixels. The class is the brightest of red, green and blue, which a model learns within seconds.
class ColouredSquares final : public Dataset {
 public:
  ColouredSquares(int64_t size, uint64_t seed);
  int64_t size() const override { return size_; }
  int label(int64_t index) const override { return static_cast<int>(index % 3); }
  std::string name(int64_t index) const override;
  absl::StatusOr<Image> image(int64_t index) const override;
  absl::StatusOr<std::string> encoded(int64_t index) const override;

 private:
  const int64_t size_;
  const uint64_t seed_;
};

extern const ColouredSquares kTrainSquares;  // 96 images
extern const ColouredSquares kTestSquares;   // 48 images

// Writes the images as FOLDER/<class>/<index>.png, one split of an image folder.
void WriteImageFolder(const ColouredSquares& squares, const std::filesystem::path& folder);

// Returns the recipe of an EIT of a few thousand parameters on mixed sizes, with six steps per epoch of 96 images.
v1::Recipe SmallRecipe();

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_COLOURED_SQUARES_H_
