// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_MODELS_SHEET_H_
#define VITRINE_CLIENT_MODELS_SHEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "imaging/image.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// What several models answered about the same pictures.
struct ModelsSheet {
  struct Row {
    std::string picture = {};         // its path
    std::optional<Image> image = {};  // as it was sent, upright, or smaller; none: it could not be read
    std::vector<absl::StatusOr<v1::ClassifyResponse>> answers = {};  // one per model, with one map at most each
  };
  struct Model {
    std::string name = {};  // "eit-mini-cifar10 version 2"
    std::string map = {};   // what its map is, or that it has none
  };
  std::vector<Model> models = {};
  std::vector<Row> rows = {};
};

// Most pictures of a drawing, which is one picture itself; a page takes any number.
inline constexpr size_t kMostSheetRows = 40;

// A row for each picture, a column for each model: where it looked, over the picture, and below it the bars of its
// guesses. Maps have one colour scale over all rows and models, those of both signs another. As a PNG file;
// INVALID_ARGUMENT: no picture could be read, or there are more than kMostSheetRows.
absl::StatusOr<std::string> DrawModelsSheet(const ModelsSheet& sheet);
// The same as a page in one file, with all guesses in words, and what failed.
absl::StatusOr<std::string> ModelsSheetPage(const ModelsSheet& sheet);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_MODELS_SHEET_H_
