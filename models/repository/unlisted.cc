// SPDX-License-Identifier: Apache-2.0
#include "models/repository/unlisted.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "models/repository/manifest.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int kLevels = 3;
constexpr int kMostVisited = 4096;

// Finds the folders with a manifest, down to a maximum depth.
class Search {
 public:
  explicit Search(const fs::path& root) : root_(root) {}

  // Visits a folder. `name` is its path relative to the root; empty for the root.
  void Visit(const std::string& name, int levels) {
    if (++visited_ > kMostVisited) return;
    std::error_code error;
    if (fs::is_regular_file(root_ / name / kManifestFile, error)) found_.insert(name.empty() ? "." : name);
    if (levels == 0) return;
    for (fs::directory_iterator entry(root_ / name, error), end; !error && entry != end; entry.increment(error)) {
      const std::string inner = entry->path().filename().string();
      std::error_code unknown;
      if (inner.starts_with('.') || !fs::is_directory(entry->path(), unknown)) continue;
      Visit(name.empty() ? inner : absl::StrCat(name, "/", inner), levels - 1);
    }
  }

  const std::set<std::string>& found() const { return found_; }

 private:
  const fs::path& root_;
  std::set<std::string> found_;
  int visited_ = 0;
};

}  // namespace

std::vector<std::string> UnlistedManifests(const fs::path& root, const Listing& listing) {
  std::set<std::string> listed;
  for (const VersionId& id : listing.versions) listed.insert(absl::StrCat(id.model, "/", id.version));
  Search search(root);
  search.Visit("", kLevels);
  std::vector<std::string> unlisted;
  std::set_difference(search.found().begin(), search.found().end(), listed.begin(), listed.end(),
                      std::back_inserter(unlisted));
  return unlisted;
}

}  // namespace vitrine
