#include "data/dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "data/idx.h"
#include "data/image_folder.h"

namespace vitrine {

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(std::string_view spec, Split split) {
  const size_t colon = spec.find(':');
  const std::string kind(spec.substr(0, colon));
  const std::string_view where = colon == std::string_view::npos ? "" : spec.substr(colon + 1);
  if (where.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(spec), "\" is no data set; write KIND:FOLDER, for instance mnist:DIR or imagefolder:DIR"));
  }
  if (kind == "mnist") return OpenIdx(where, split, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  if (kind == "fashion-mnist") {
    return OpenIdx(
        where, split,
        {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"});
  }
  if (kind == "imagefolder") return OpenImageFolder(where, split);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", kind, "\" is no kind of data set; there are mnist, fashion-mnist and imagefolder"));
}

}  // namespace vitrine
