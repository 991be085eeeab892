// SPDX-License-Identifier: Apache-2.0
#include "common/data/tolerant.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {

std::vector<int64_t> ImagesPerClass(const Dataset& data) {
  std::vector<int64_t> images(data.labels().size());
  for (int64_t i = 0; i < data.size(); ++i) ++images[static_cast<size_t>(data.label(i))];
  return images;
}

void CorruptImages::Add(const absl::Status& reason) {
  const std::string text(reason.message());
  if (known_.insert(text).second) reasons_.push_back(text);
}

void CorruptImages::AddLostClasses(const std::vector<int64_t>& before, const Dataset& kept) {
  const std::vector<int64_t> after = ImagesPerClass(kept);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] > 0 && after[i] == 0) lost_classes_.push_back(kept.labels()[i]);
  }
}

absl::Status CorruptImages::Judge(std::optional<int64_t> limit) const {
  const auto count = static_cast<int64_t>(reasons_.size());
  if (count <= limit.value_or(0)) {
    if (lost_classes_.empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "no training image of ", lost_classes_.size() == 1 ? "class \"" : "classes \"",
        absl::StrJoin(lost_classes_, "\", \""), "\" can be decoded; repair the images, or remove the class:\n  ",
        absl::StrJoin(reasons_, "\n  ")));
  }
  const std::string way_out =
      limit.has_value() ? absl::StrCat(", or leave them out with corrupt_limit=", count, " (it is ", *limit, ")") : "";
  return absl::DataLossError(absl::StrCat(count, count == 1 ? " image" : " images",
                                          " cannot be decoded; repair or remove them", way_out, ":\n  ",
                                          absl::StrJoin(reasons_, "\n  ")));
}

}  // namespace vitrine
