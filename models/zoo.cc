// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "models/families/family.h"

namespace vitrine {
namespace {

// Returns a pair that sorts zoo rows by similarity to `name`, the most similar first: by the length of the common
// prefix, then by WordDistance.
std::pair<int, int> FarFrom(std::string_view name, std::string_view row) {
  const auto common = std::mismatch(name.begin(), name.end(), row.begin(), row.end()).first - name.begin();
  return {-static_cast<int>(common), WordDistance(name, row)};
}

}  // namespace

std::span<const ZooRow> Zoo() {
  static const auto* const kZoo = new std::vector<ZooRow>([] {
    std::vector<ZooRow> rows;
    for (const Family& family : Families()) {
      if (family.variants == nullptr) continue;
      for (ZooRow& row : family.variants()) rows.push_back(std::move(row));
    }
    return rows;
  }());
  return *kZoo;
}

absl::StatusOr<ZooRow> FindVariant(std::string_view name) {
  std::vector<std::pair<std::pair<int, int>, std::string>> near;
  for (const ZooRow& row : Zoo()) {
    if (row.name == name) return row;
    near.emplace_back(FarFrom(name, row.name), row.name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  near.resize(std::min<size_t>(near.size(), 3));
  return absl::NotFoundError(absl::StrCat(
      "no variant is named \"", std::string(name), "\"; the nearest are ",
      absl::StrJoin(near, ", ", [](std::string* out, const auto& entry) { absl::StrAppend(out, entry.second); }),
      ". `vitrine-repo zoo` lists image models, `vitrine-train list` also lists sequence models"));
}

}  // namespace vitrine
