// SPDX-License-Identifier: Apache-2.0
#include "client/pictures.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardInput[] = "-";
constexpr int64_t kLargestList = 256 << 20;

bool LooksLikePicture(const fs::path& path) {
  const std::string ending = absl::AsciiStrToLower(path.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".webp";
}

// Adds the folder's pictures; the folder itself where it cannot be read.
void AddPicturesIn(const fs::path& folder, bool recursive, std::vector<std::string>& found) {
  std::error_code error;
  std::vector<std::string> names;
  std::vector<fs::path> folders;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (LooksLikePicture(it->path()) && it->is_regular_file(ignored)) names.push_back(it->path().string());
    // A link to a folder may lead back up.
    if (recursive && it->is_directory(ignored) && !it->is_symlink(ignored)) folders.push_back(it->path());
  }
  if (error) names = {folder.string()};
  std::sort(names.begin(), names.end());
  std::sort(folders.begin(), folders.end());
  found.insert(found.end(), names.begin(), names.end());
  for (const fs::path& inside : folders) AddPicturesIn(inside, recursive, found);
}

void AddPath(const std::string& path, bool recursive, std::vector<std::string>& found) {
  std::error_code ignored;
  const size_t before = found.size();
  if (path != kStandardInput && fs::is_directory(path, ignored)) AddPicturesIn(path, recursive, found);
  if (found.size() == before) found.push_back(path);
}

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

// The standard input is left open.
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
  if (std::ferror(file) != 0) return absl::UnavailableError("the file cannot be read to its end");
  return bytes;
}

absl::StatusOr<std::vector<std::string>> ReadList(const PictureSearch& search) {
  const std::string& name = search.files_from;
  const File file = Open(name);
  if (file == nullptr) {
    return absl::NotFoundError(absl::StrCat("the list ", name, ": ", absl::AsciiStrToLower(std::strerror(errno))));
  }
  absl::StatusOr<std::string> text = ReadAll(file.get(), kLargestList);
  if (!text.ok())
    return absl::Status(text.status().code(), absl::StrCat("the list ", name, ": ", text.status().message()));
  std::vector<std::string> paths;
  for (absl::string_view path : absl::StrSplit(*text, search.null_separated ? '\0' : '\n')) {
    if (!search.null_separated) absl::ConsumeSuffix(&path, "\r");  // a list from Windows
    // In a list it is a file like any other, and not the standard input.
    if (!path.empty()) paths.push_back(path == kStandardInput ? "./-" : std::string(path));
  }
  return paths;
}

// What is wrong with a folder that stayed in the list.
absl::Status NoPictureIn(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator unused(folder, error);
  if (error) return absl::PermissionDeniedError(absl::AsciiStrToLower(error.message()));
  return absl::NotFoundError("no picture (.jpg, .jpeg, .png or .webp) in this folder");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindPictures(const std::vector<std::string>& paths,
                                                      const PictureSearch& search) {
  const auto standard = std::count(paths.begin(), paths.end(), kStandardInput);
  if (standard + (search.files_from == kStandardInput ? 1 : 0) > 1) {
    return absl::InvalidArgumentError("the standard input can be read once; give - once");
  }
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    const std::vector<std::string> matches = LooksLikePattern(path) ? Matches(path) : std::vector<std::string>();
    if (matches.empty()) AddPath(path, search.recursive, found);
    for (const std::string& match : matches) AddPath(match, search.recursive, found);
  }
  if (!search.files_from.empty()) {
    absl::StatusOr<std::vector<std::string>> listed = ReadList(search);
    if (!listed.ok()) return listed.status();
    for (const std::string& path : *listed) AddPath(path, search.recursive, found);
    if (found.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the list ", search.files_from, " names no picture"));
    }
  }
  if (found.empty()) return absl::InvalidArgumentError("no picture was named");
  return found;
}

std::vector<std::string> DistinctStems(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  absl::flat_hash_set<std::string> wanted, used;
  absl::flat_hash_map<std::string, int> next;  // number to try for a stem, so that many equal ones take no longer
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

absl::StatusOr<std::string> ReadPicture(const std::string& path, int64_t max_bytes) {
  std::error_code ignored;
  if (path != kStandardInput && fs::is_directory(path, ignored)) return NoPictureIn(path);
  const File file = Open(path);
  if (file == nullptr) {
    if (errno == ENOENT && LooksLikePattern(path)) return absl::NotFoundError("no file matches this pattern");
    return absl::NotFoundError(absl::AsciiStrToLower(std::strerror(errno)));
  }
  absl::StatusOr<std::string> bytes = ReadAll(file.get(), max_bytes);
  if (bytes.ok() && bytes->empty()) return absl::InvalidArgumentError("the file is empty");
  return bytes;
}

}  // namespace vitrine
