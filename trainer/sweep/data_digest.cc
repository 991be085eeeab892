// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/data_digest.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/dataset.h"
#include "common/data/digest.h"
#include "common/data/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "trainer/recipe/recipe_data.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestFile = int64_t{1} << 40;  // the features of a large model need gigabytes

absl::StatusOr<std::string> OfImages(const v1::Recipe& recipe, const std::string& data, int threads) {
  ASSIGN_OR_RETURN(const std::string complete, CompleteData(recipe, data));
  std::string both;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> images, OpenDataset(complete, split));
    ASSIGN_OR_RETURN(const std::string digest, ContentDigestOf(*images, threads));
    absl::StrAppend(&both, digest, "\n");
  }
  return Sha256Hex(both);
}

// Returns the file or folder in `data`, which is PATH or KIND:PATH; empty if there is none.
fs::path PathIn(const std::string& data) {
  std::error_code ignored;
  if (fs::exists(data, ignored)) return data;
  const size_t colon = data.find(':');
  if (colon == std::string::npos) return {};
  const fs::path path = data.substr(colon + 1);
  return fs::exists(path, ignored) ? path : fs::path();
}

absl::StatusOr<std::string> OfFiles(const std::string& data) {
  const fs::path path = PathIn(data);
  if (path.empty()) return Sha256Hex(data);
  std::vector<fs::path> files = {path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    files.clear();
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->is_regular_file()) files.push_back(entry->path());
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat(path.string(), ": ", error.message()));
  std::vector<std::string> lines;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(file, kLargestFile));
    lines.push_back(absl::StrCat(file.lexically_relative(path).string(), "\t", Sha256Hex(content), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  return Sha256Hex(absl::StrJoin(lines, ""));
}

}  // namespace

absl::StatusOr<std::string> RunDataDigest(const v1::Recipe& recipe, const std::string& data, int threads) {
  return recipe.has_sequence() ? OfFiles(data) : OfImages(recipe, data, threads);
}

}  // namespace vitrine
