// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Answers of several models for the same images.
struct ModelsSheet {
  struct Row {
    std::string path = {};
    std::optional<Image> image = {};  // as sent, upright, or smaller; none: it could not be read
    std::vector<absl::StatusOr<v1::ClassifyResponse>> answers = {};  // one per model, with at most one map each
  };
  struct Model {
    std::string name = {};  // "eit-mini-cifar10 version 2"
    std::string map = {};   // description of its map, or that it has none
  };
  std::vector<Model> models = {};
  std::vector<Row> rows = {};
};

// Maximum images in a drawing, which is one PNG file; a page has no limit.
inline constexpr size_t kMostSheetRows = 40;

// Returns a PNG file with a row per image and a column per model: the attention over the image, and below it the bars
// of its predictions. All maps share one colour scale, signed maps another. INVALID_ARGUMENT: no image could be read,
// or there are more than kMostSheetRows.
absl::StatusOr<std::string> DrawModelsSheet(const ModelsSheet& sheet);
// Returns the same as one HTML file, with all predictions as text, and failures.
absl::StatusOr<std::string> ModelsSheetPage(const ModelsSheet& sheet);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_
