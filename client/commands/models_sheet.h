// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Answers of several models for the same images.
struct ModelsSheet {
  struct Row {
    std::string path = {};
    std::optional<Image> image = {};   // upright, as sent or smaller; nullopt: unreadable
    std::optional<Size> sent_as = {};  // size after reduction; nullopt: sent without reduction
    // one answer per model, with at most one attention map
    std::vector<absl::StatusOr<v1::ClassifyResponse>> answers = {};
  };
  struct Model {
    std::string name = {};  // "eit-mini-cifar10 version 2"
    std::string map = {};   // describes the model's attention map, or says that there is none
  };
  std::vector<Model> models = {};
  std::vector<Row> rows = {};
};

// Maximum number of images that DrawModelsSheet can show. ModelsSheetPage has no limit.
inline constexpr size_t kMostSheetRows = 40;
// Returns INVALID_ARGUMENT if `images` is more than kMostSheetRows.
absl::Status CheckSheetRows(size_t images);

// Returns a PNG file with a row per image and a column per model. Each cell shows the attention over the image, with
// bars of the predictions below. Unsigned maps share one colour scale, and signed maps share another. INVALID_ARGUMENT:
// no image could be read, or there are more than kMostSheetRows images.
absl::StatusOr<std::string> DrawModelsSheet(const ModelsSheet& sheet);
// Returns an HTML file with the content of DrawModelsSheet, all failures, and all predictions as text.
absl::StatusOr<std::string> ModelsSheetPage(const ModelsSheet& sheet);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_SHEET_H_
