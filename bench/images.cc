// SPDX-License-Identifier: Apache-2.0
#include "bench/images.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/imaging/header.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

bool IsImage(const fs::path& path) {
  std::string extension = path.extension();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".webp";
}

std::vector<fs::path> FilesAt(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (IsImage(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadImages(const std::vector<std::string>& paths) {
  std::vector<std::string> images;
  for (const std::string& path : paths) {
    const std::vector<fs::path> files = FilesAt(path);
    for (const fs::path& file : files) {
      std::ifstream stream(file, std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      if (!stream) return absl::NotFoundError(absl::StrCat(file.string(), " cannot be read"));
      if (const auto header = ReadHeader(bytes); !header.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", header.status().message()));
      }
      images.push_back(std::move(bytes));
    }
  }
  if (images.empty()) return absl::NotFoundError("there is no JPEG, PNG or WebP file at the given paths");
  return images;
}

}  // namespace vitrine
