// SPDX-License-Identifier: Apache-2.0
#include "data/picture_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "data/file.h"
#include "imaging/decode.h"
#include "imaging/fit_picture.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRoomInRequest = 64 << 10;  // bytes, for what a request says besides its picture

absl::Status Named(std::string_view name, const absl::Status& reason) {
  return absl::Status(reason.code(), absl::StrCat(std::string(name), ": ", reason.message()));
}

class PictureFiles final : public Dataset {
 public:
  PictureFiles(fs::path root, std::vector<LabelledFile> files, std::vector<std::string> labels)
      : root_(std::move(root)), files_(std::move(files)) {
    labels_ = std::move(labels);
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int label(int64_t index) const override { return files_[index].label; }
  std::string name(int64_t index) const override { return files_[index].path; }

  absl::StatusOr<Image> image(int64_t index) const override {
    ASSIGN_OR_RETURN(std::string bytes, stored(index));
    return DecodeNamed(PathOf(index), std::move(bytes));
  }

  absl::StatusOr<std::string> encoded(int64_t index) const override {
    ASSIGN_OR_RETURN(std::string bytes, stored(index));
    return SentFile(PathOf(index), std::move(bytes));
  }

  absl::StatusOr<std::string> stored(int64_t index) const override { return ReadWholeFile(PathOf(index)); }

 private:
  std::string PathOf(int64_t index) const { return (root_ / files_[index].path).string(); }

  const fs::path root_;
  const std::vector<LabelledFile> files_;
};

// Names of the visible entries of a folder that `accept` takes, in byte order.
template <typename Accept>
absl::StatusOr<std::vector<std::string>> SortedEntries(const fs::path& folder, Accept accept) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && accept(*entry)) names.push_back(name);
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder.string(), " cannot be read: ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::unique_ptr<Dataset> MakePictureFiles(fs::path root, std::vector<LabelledFile> files,
                                          std::vector<std::string> labels) {
  return std::make_unique<PictureFiles>(std::move(root), std::move(files), std::move(labels));
}

absl::StatusOr<std::vector<std::string>> SortedFolders(const fs::path& folder) {
  return SortedEntries(folder, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_directory(ignored);
  });
}

absl::StatusOr<std::vector<std::string>> SortedPictures(const fs::path& folder) {
  return SortedEntries(folder, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return IsPictureEnding(entry.path().extension().string()) && entry.is_regular_file(ignored);
  });
}

bool IsPictureEnding(std::string_view ending) {
  const std::string lower = absl::AsciiStrToLower(std::string(ending));
  return lower == ".jpg" || lower == ".jpeg" || lower == ".png" || lower == ".webp";
}

absl::StatusOr<std::string> SentFile(std::string_view name, std::string bytes) {
  FitLimits limits;
  limits.max_bytes -= kRoomInRequest;
  absl::StatusOr<std::optional<FittedPicture>> fitted = FitPicture(bytes, limits);
  if (!fitted.ok()) return Named(name, fitted.status());
  return fitted->has_value() ? std::move((*fitted)->encoded) : std::move(bytes);
}

absl::StatusOr<Image> DecodeNamed(std::string_view name, std::string bytes) {
  ASSIGN_OR_RETURN(const std::string sent, SentFile(name, std::move(bytes)));
  absl::StatusOr<Image> decoded = Decode(sent);
  if (!decoded.ok()) return Named(name, decoded.status());
  return decoded;
}

}  // namespace vitrine
