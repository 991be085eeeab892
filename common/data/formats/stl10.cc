// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/stl10.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/data/formats/planar_records.h"
#include "common/status_macros.h"

namespace vitrine {

absl::StatusOr<std::unique_ptr<Dataset>> OpenStl10(const std::filesystem::path& directory, Split split) {
  const std::filesystem::path folder = IsFolder(directory / "stl10_binary") ? directory / "stl10_binary" : directory;
  std::vector<std::string> labels = {"airplane", "bird",  "car",    "cat",  "deer",
                                     "dog",      "horse", "monkey", "ship", "truck"};
  if (IsRegularFile(folder / "class_names.txt")) {
    ASSIGN_OR_RETURN(labels, ReadClassNames(folder / "class_names.txt", labels.size()));
  }
  const std::string prefix = split == Split::kTest ? "test" : "train";
  const std::filesystem::path labels_file = folder / (prefix + "_y.bin");
  ASSIGN_OR_RETURN(const std::string numbers, ReadWholeFile(labels_file));
  std::vector<uint8_t> classes;
  for (const char number : numbers) {
    const auto label = static_cast<uint8_t>(number);
    if (label < 1 || label > labels.size()) {
      return absl::InvalidArgumentError(absl::StrCat(labels_file.string(), ": record ", classes.size(),
                                                     " has the label ", label, "; labels are 1 to ", labels.size()));
    }
    classes.push_back(label - 1);
  }
  constexpr RecordLayout kLayout{.width = 96, .height = 96, .by_columns = true};
  return OpenPlanarRecords({folder / (prefix + "_X.bin")}, kLayout, std::move(classes), std::move(labels));
}

}  // namespace vitrine
