// SPDX-License-Identifier: Apache-2.0
#include "client/commands/images.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/data/folder.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardInput[] = "-";
constexpr int64_t kLargestList = 256 << 20;

// Finds images, and records ignored files.
class ImageFinder {
 public:
  explicit ImageFinder(bool recursive) : recursive_(recursive) {}

  void AddPath(const std::string& path) {
    std::error_code ignored;
    const size_t before = found_.size();
    if (path != kStandardInput && fs::is_directory(path, ignored)) AddImagesIn(path);
    if (found_.size() == before) found_.push_back(path);
  }

  FoundImages Take() && {
    std::string words = passed_over_.InWords();
    if (unopened_ > 0) {
      absl::StrAppend(&words, words.empty() ? "" : "; ", unopened_, unopened_ == 1 ? " folder" : " folders",
                      " (--recursive includes their images)");
    }
    return {.paths = std::move(found_), .passed_over = std::move(words)};
  }

 private:
  // Adds the folder's images, or the folder itself if it cannot be read.
  void AddImagesIn(const fs::path& folder) {
    const absl::StatusOr<FolderContent> content = ReadFolder(folder);
    if (!content.ok()) {
      found_.push_back(folder.string());
      return;
    }
    for (const std::string& name : content->images) found_.push_back((folder / name).string());
    passed_over_.AddOthers(*content);
    if (!recursive_) {
      unopened_ += content->folders.size();
      return;
    }
    for (const std::string& name : content->folders) {
      std::error_code ignored;
      if (fs::is_symlink(folder / name, ignored)) {
        passed_over_.AddFolderLink();
      } else {
        AddImagesIn(folder / name);
      }
    }
  }

  const bool recursive_;
  std::vector<std::string> found_;
  PassedOver passed_over_;
  size_t unopened_ = 0;  // folders not searched, because recursive_ is false
};

bool LooksLikePattern(const std::string& path) {
  std::error_code ignored;
  return path.find_first_of("*?[") != std::string::npos &&
         fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t matches = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  return paths;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Opens a file to read. "-" is standard input, which is never closed.
File Open(const std::string& path) {
  if (path == kStandardInput) return File(stdin, [](std::FILE*) { return 0; });
  return File(std::fopen(path.c_str(), "rb"), &std::fclose);
}

absl::StatusOr<std::string> ReadAll(std::FILE* file, int64_t max_bytes) {
  std::string bytes;
  char buffer[64 << 10];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), file)) {
    bytes.append(buffer, n);
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the file is larger than ", max_bytes >> 20, " MiB"));
    }
  }
  if (std::ferror(file) != 0) return absl::UnavailableError("the file cannot be read completely");
  return bytes;
}

absl::StatusOr<std::vector<std::string>> ReadList(const ImageSearch& search) {
  const std::string& name = search.files_from;
  const File file = Open(name);
  if (file == nullptr) {
    return absl::NotFoundError(absl::StrCat("the list ", name, ": ", absl::AsciiStrToLower(std::strerror(errno))));
  }
  absl::StatusOr<std::string> text = ReadAll(file.get(), kLargestList);
  if (text.ok() && !search.null_separated) text = PlainText(*text);
  if (!text.ok())
    return absl::Status(text.status().code(), absl::StrCat("the list ", name, ": ", text.status().message()));
  std::vector<std::string> paths;
  for (const absl::string_view path : absl::StrSplit(*text, search.null_separated ? '\0' : '\n')) {
    if (path.empty()) continue;
    const std::string name(path);
    // In a list, "-" names a file and not standard input.
    paths.push_back(name == kStandardInput ? "./-" : search.null_separated ? name : ListedFile("", name));
  }
  return paths;
}

// Returns the error for `folder`, which has no images.
absl::Status NoImageIn(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator unused(folder, error);
  if (error) return absl::PermissionDeniedError(absl::AsciiStrToLower(error.message()));
  return absl::NotFoundError(absl::StrCat("no image (", kImageEndings, ") in this folder"));
}

}  // namespace

absl::StatusOr<FoundImages> FindImages(const std::vector<std::string>& paths, const ImageSearch& search) {
  const auto standard = std::count(paths.begin(), paths.end(), kStandardInput);
  if (standard + (search.files_from == kStandardInput ? 1 : 0) > 1) {
    return absl::InvalidArgumentError("the standard input can be read only once; give - once");
  }
  ImageFinder finder(search.recursive);
  for (const std::string& path : paths) {
    const std::vector<std::string> matches = LooksLikePattern(path) ? Matches(path) : std::vector<std::string>();
    if (matches.empty()) finder.AddPath(path);
    for (const std::string& match : matches) finder.AddPath(match);
  }
  bool any = !paths.empty();
  if (!search.files_from.empty()) {
    const absl::StatusOr<std::vector<std::string>> listed = ReadList(search);
    if (!listed.ok()) return listed.status();
    for (const std::string& path : *listed) finder.AddPath(path);
    any = any || !listed->empty();
    if (!any) return absl::InvalidArgumentError(absl::StrCat("the list ", search.files_from, " names no image"));
  }
  if (!any) return absl::InvalidArgumentError("no image was given");
  return std::move(finder).Take();
}

std::vector<std::string> DistinctStems(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  absl::flat_hash_set<std::string> wanted, used;
  absl::flat_hash_map<std::string, int> next;  // next suffix for each stem, so that many equal stems take linear time
  for (const std::string& path : paths) {
    stems.push_back(path == kStandardInput ? "stdin" : fs::path(path).stem().string());
    wanted.insert(stems.back());
  }
  for (std::string& stem : stems) {
    std::string name = stem;
    for (int& n = next.try_emplace(stem, 2).first->second;
         used.contains(name) || (name != stem && wanted.contains(name)); ++n) {
      name = absl::StrCat(stem, "-", n);
    }
    used.insert(name);
    stem = name;
  }
  return stems;
}

absl::StatusOr<std::string> ReadImage(const std::string& path, int64_t max_bytes) {
  std::error_code ignored;
  if (path != kStandardInput && fs::is_directory(path, ignored)) return NoImageIn(path);
  const File file = Open(path);
  if (file == nullptr) {
    const int error = errno;
    if (absl::StrContains(path, "://")) {
      return absl::NotFoundError(
          "this is a URL, but images are read from files; download it first, as in curl -s URL | vitrine "
          "classify -");
    }
    if (error == ENOENT && LooksLikePattern(path)) return absl::NotFoundError("no file matches this pattern");
    return absl::NotFoundError(absl::AsciiStrToLower(std::strerror(error)));
  }
  absl::StatusOr<std::string> bytes = ReadAll(file.get(), max_bytes);
  if (bytes.ok() && bytes->empty()) return absl::InvalidArgumentError("the file is empty");
  return bytes;
}

}  // namespace vitrine
