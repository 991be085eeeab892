// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/image_files.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/imaging/decode.h"
#include "common/imaging/fit_image.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRoomInRequest = 64 << 10;  // bytes reserved for the rest of the request

absl::Status Named(std::string_view name, const absl::Status& reason) {
  return absl::Status(reason.code(), absl::StrCat(std::string(name), ": ", reason.message()));
}

class ImageFiles final : public Dataset {
 public:
  ImageFiles(fs::path root, ImageList list) : root_(std::move(root)), files_(std::move(list.files)) {
    labels_ = std::move(list.labels);
    undivided_ = list.undivided;
    remarks_ = std::move(list.remarks);
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

}  // namespace

std::unique_ptr<Dataset> MakeImageFiles(fs::path root, ImageList list) {
  return std::make_unique<ImageFiles>(std::move(root), std::move(list));
}

absl::StatusOr<std::string> SentFile(std::string_view name, std::string bytes) {
  FitLimits limits;
  limits.max_bytes -= kRoomInRequest;
  absl::StatusOr<std::optional<FittedImage>> fitted = FitImage(bytes, limits);
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
