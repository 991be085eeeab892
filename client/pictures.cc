#include "client/pictures.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

bool LooksLikePicture(const fs::path& path) {
  const std::string ending = absl::AsciiStrToLower(path.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

absl::StatusOr<std::vector<std::string>> PicturesIn(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (LooksLikePicture(it->path()) && it->is_regular_file(ignored)) found.push_back(it->path().string());
  }
  if (error) return absl::PermissionDeniedError(absl::StrCat(folder, ": ", error.message()));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(folder, ": no picture (.jpg, .jpeg or .png) in this folder"));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandPaths(const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      result.push_back(path);
      continue;
    }
    absl::StatusOr<std::vector<std::string>> inside = PicturesIn(path);
    if (!inside.ok()) return inside.status();
    result.insert(result.end(), inside->begin(), inside->end());
  }
  return result;
}

std::vector<std::string> DistinctStems(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  std::set<std::string> wanted, used;
  for (const std::string& path : paths) {
    stems.push_back(fs::path(path).stem().string());
    wanted.insert(stems.back());
  }
  for (std::string& stem : stems) {
    std::string name = stem;
    for (int n = 2; used.contains(name) || (name != stem && wanted.contains(name)); ++n) {
      name = absl::StrCat(stem, "-", n);
    }
    used.insert(name);
    stem = name;
  }
  return stems;
}

absl::StatusOr<std::string> ReadPicture(const std::string& path, int64_t max_bytes) {
  std::error_code error;
  const fs::file_status type = fs::status(path, error);
  if (fs::is_directory(type)) return absl::InvalidArgumentError("is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return absl::NotFoundError(absl::AsciiStrToLower(std::strerror(errno)));
  std::string bytes;
  char buffer[64 << 10];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    bytes.append(buffer, n);
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the file is larger than ", max_bytes >> 20, " MiB"));
    }
  }
  if (std::ferror(file.get()) != 0) return absl::UnavailableError("the file cannot be read to its end");
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty");
  return bytes;
}

}  // namespace vitrine
