// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tar_shards.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/data/folder.h"
#include "common/data/split_names.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostShards = 100'000;

using Words = std::vector<std::string>;

// Parses the text between a pair of braces and returns its alternatives. Returns nullopt if the text is neither a list
// nor a range.
std::optional<Words> Alternatives(const std::string& body) {
  Words list(1);
  int depth = 0;
  for (const char c : body) {
    depth += (c == '{') - (c == '}');
    if (c == ',' && depth == 0) {
      list.emplace_back();
    } else {
      list.back() += c;
    }
  }
  if (list.size() > 1) return list;
  const Words ends = absl::StrSplit(body, "..");
  int64_t first = 0, last = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last)) return std::nullopt;
  if (first < 0 || last < first || last - first > static_cast<int64_t>(kMostShards)) return std::nullopt;
  const bool padded = ends[0].size() > 1 && ends[0][0] == '0';
  const int width = padded ? static_cast<int>(std::min<size_t>(ends[0].size(), 20)) : 0;
  list.clear();
  for (int64_t number = first; number <= last; ++number) list.push_back(absl::StrFormat("%0*d", width, number));
  return list;
}

// Returns the index of the closing brace for the opening brace at `open`; npos if there is none.
size_t Closing(const std::string& pattern, size_t open) {
  int depth = 0;
  for (size_t at = open; at < pattern.size(); ++at) {
    depth += (pattern[at] == '{') - (pattern[at] == '}');
    if (depth == 0) return at;
  }
  return std::string::npos;
}

// Returns the splits that a shard's name states.
std::set<NamedSplit> SplitsIn(const std::string& name) {
  std::set<NamedSplit> said;
  for (const absl::string_view word : absl::StrSplit(name, absl::ByAnyChar("-_. 0123456789"))) {
    if (const auto split = SplitOfWord({word.data(), word.size()})) said.insert(*split);
  }
  return said;
}

// Adds the files that match `pattern`, which has no braces.
absl::Status AddMatches(const std::string& pattern, std::vector<fs::path>& shards) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    if (!IsRegularFile(pattern)) return absl::NotFoundError(absl::StrCat("there is no tar file ", pattern));
    shards.emplace_back(pattern);
    return absl::OkStatus();
  }
  glob_t found = {};
  const int result = glob(pattern.c_str(), 0, nullptr, &found);
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) shards.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (result != 0) return absl::NotFoundError(absl::StrCat("no file matches ", pattern));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<fs::path>> ShardsBelow(const fs::path& folder) {
  std::vector<fs::path> shards;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    if (IsHiddenName(entry->path().filename().string())) {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->path().extension() == ".tar" && IsRegularFile(entry->path())) shards.push_back(entry->path());
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder.string(), " cannot be read: ", error.message()));
  if (shards.empty()) return absl::NotFoundError(absl::StrCat(folder.string(), " holds no *.tar file"));
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Returns the folder of the shards: the parent folder of the first path component with a brace or wildcard.
fs::path FolderOf(std::string_view where) {
  const fs::path fixed = where.substr(0, where.find_first_of("{*?["));
  return fixed.has_parent_path() ? fixed.parent_path() : fs::path(".");
}

absl::Status Divide(const std::vector<fs::path>& all, TarShards& shards) {
  std::vector<fs::path> val, unsaid;
  for (const fs::path& shard : all) {
    std::set<NamedSplit> said = SplitsIn(shard.stem().string());
    const fs::path above = shard.parent_path();
    if (said.empty() && above != shards.folder) said = SplitsIn(above.filename().string());
    if (said.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(shard.string(), " names two splits; keep one in its name"));
    }
    auto& list = said.empty()                          ? unsaid
                 : *said.begin() == NamedSplit::kTrain ? shards.train
                 : *said.begin() == NamedSplit::kTest  ? shards.test
                                                       : val;
    list.push_back(shard);
  }
  if (shards.test.empty()) shards.test = std::move(val);
  if (unsaid.empty()) return absl::OkStatus();
  if (unsaid.size() < all.size()) {
    return absl::InvalidArgumentError(absl::StrCat(unsaid.front().string(),
                                                   " names no split, but other shards do; put train, test or "
                                                   "val into its name, as in train-0001.tar"));
  }
  shards.undivided = true;
  shards.train = shards.test = std::move(unsaid);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view text) {
  Words done;
  Words open = {std::string(text)};  // patterns that may still contain braces; the loop takes the last pattern first
  std::vector<size_t> from = {0};    // for each pattern, start of the search for braces
  while (!open.empty()) {
    const std::string pattern = std::move(open.back());
    const size_t begin = pattern.find('{', from.back());
    open.pop_back();
    from.pop_back();
    const size_t end = begin == std::string::npos ? begin : Closing(pattern, begin);
    if (end == std::string::npos) {
      done.push_back(pattern);
    } else if (const auto words = Alternatives(pattern.substr(begin + 1, end - begin - 1))) {
      for (auto word = words->rbegin(); word != words->rend(); ++word) {
        open.push_back(pattern.substr(0, begin) + *word + pattern.substr(end + 1));
        from.push_back(begin);
      }
    } else {
      open.push_back(pattern);
      from.push_back(begin + 1);
    }
    if (open.size() + done.size() > kMostShards) {
      return absl::InvalidArgumentError(absl::StrCat("the braces list more than ", kMostShards, " files"));
    }
  }
  return done;
}

absl::StatusOr<TarFiles> ListTarFiles(std::string_view where) {
  TarFiles files;
  if (IsFolder(where)) {
    files.folder = where;
    if (!files.folder.has_filename()) files.folder = files.folder.parent_path();  // removes "/" at the end
    ASSIGN_OR_RETURN(files.paths, ShardsBelow(files.folder));
  } else {
    files.folder = FolderOf(where);
    ASSIGN_OR_RETURN(const Words patterns, ExpandBraces(where));
    for (const std::string& pattern : patterns) RETURN_IF_ERROR(AddMatches(pattern, files.paths));
  }
  std::set<fs::path> seen;
  for (const fs::path& path : files.paths) {
    if (!seen.insert(path).second) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(), " is listed twice"));
    }
  }
  return files;
}

absl::StatusOr<TarShards> FindTarShards(std::string_view where) {
  ASSIGN_OR_RETURN(TarFiles files, ListTarFiles(where));
  TarShards shards;
  shards.folder = std::move(files.folder);
  RETURN_IF_ERROR(Divide(files.paths, shards));
  return shards;
}

}  // namespace vitrine
