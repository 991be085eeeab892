// SPDX-License-Identifier: Apache-2.0
#include "common/data/digest.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/parallel.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string LineOf(const Dataset& data, int64_t index) {
  return absl::StrCat(data.name(index), "\t", data.label(index), "\n");
}

// Returns the digest of the sorted lines; repeated lines count once.
std::string SortedDigest(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return Sha256Hex(absl::StrJoin(lines, ""));
}

}  // namespace

std::string DigestOf(const Dataset& data) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < data.size(); ++i) lines.push_back(LineOf(data, i));
  return SortedDigest(std::move(lines));
}

absl::StatusOr<std::vector<std::string>> ImageDigestsOf(const Dataset& data, int threads) {
  std::vector<std::string> images(data.size());  // each element is written by one thread
  RETURN_IF_ERROR(ParallelFor(data.size(), threads, [&](int64_t i) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string bytes, data.stored(i));
    images[i] = Sha256Hex(bytes);
    return absl::OkStatus();
  }));
  return images;
}

int64_t CountShared(const std::vector<std::string>& images, const std::vector<std::string>& others) {
  const std::unordered_set<std::string_view> known(others.begin(), others.end());
  return std::count_if(images.begin(), images.end(), [&](const std::string& image) { return known.contains(image); });
}

std::string ContentDigestOf(const Dataset& data, const std::vector<std::string>& images) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < data.size(); ++i) {
    lines.push_back(absl::StrCat(data.name(i), "\t", data.label(i), "\t", images[i], "\n"));
  }
  return SortedDigest(std::move(lines));
}

absl::StatusOr<std::string> ContentDigestOf(const Dataset& data, int threads) {
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ImageDigestsOf(data, threads));
  return ContentDigestOf(data, images);
}

std::string OrderedDigestOf(const Dataset& data) {
  std::string all;
  for (int64_t i = 0; i < data.size(); ++i) all += LineOf(data, i);
  return Sha256Hex(all);
}

}  // namespace vitrine
