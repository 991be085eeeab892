// SPDX-License-Identifier: Apache-2.0
#include "trainer/recipe/recipe_data.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/data/reduced.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string Origin(const v1::Recipe& recipe) {
  if (recipe.data().origin().empty()) return "";
  return absl::StrCat(".\n  The data: ", recipe.data().origin());
}

// Decodes every image of an opened split, and leaves out the corrupt ones; see OpenSplit.
absl::StatusOr<std::unique_ptr<Dataset>> KeepDecodable(std::unique_ptr<Dataset> opened, const std::string& data,
                                                       Split split, const v1::Preprocessing& preprocessing, bool cache,
                                                       int threads, CorruptImages& corrupt) {
  if (cache) {
    absl::StatusOr<std::unique_ptr<Dataset>> cached =
        CacheInMemory(MakeReduced(std::move(opened), preprocessing), threads, int64_t{4} << 30, &corrupt);
    if (!absl::IsResourceExhausted(cached.status())) return cached;
    // The split is too large for memory, so it is opened again and each image is decoded when it is needed.
    ASSIGN_OR_RETURN(opened, OpenDataset(data, split));
  }
  return LeaveOutCorrupt(MakeReduced(std::move(opened), preprocessing), threads, corrupt);
}

}  // namespace

absl::StatusOr<std::string> CompleteData(const v1::Recipe& recipe, const std::string& data) {
  if (data.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data is missing; this recipe trains on --data ", recipe.data().hint(), Origin(recipe)));
  }
  if (data.find(':') != std::string::npos || recipe.data().format().empty()) return data;
  return absl::StrCat(recipe.data().format(), ":", data);
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenSplit(const v1::Recipe& recipe, const std::string& data, Split split,
                                                   const v1::Preprocessing& preprocessing, bool cache, int threads,
                                                   CorruptImages& corrupt) {
  absl::StatusOr<std::unique_ptr<Dataset>> opened = OpenDataset(data, split);
  if (!opened.ok()) {
    return absl::Status(opened.status().code(), absl::StrCat(opened.status().message(), Origin(recipe)));
  }
  const std::vector<int64_t> images = ImagesPerClass(**opened);
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> kept,
                   KeepDecodable(*std::move(opened), data, split, preprocessing, cache, threads, corrupt));
  if (split == Split::kTrain) corrupt.AddLostClasses(images, *kept);
  return kept;
}

}  // namespace vitrine
