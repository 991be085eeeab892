// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/planar_records.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/data/formats/raw_dataset.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<int64_t> CountRecords(const ReadOnlyFile& file, const RecordLayout& layout) {
  if (file.size() > 0 && file.size() % layout.record() == 0) return file.size() / layout.record();
  return absl::InvalidArgumentError(absl::StrCat(
      file.path(), ": ", file.size(), " bytes are no whole number of records of ", layout.record(), " bytes"));
}

// Converts three planes, which start at `planes`, to an image.
Image Interleave(const uint8_t* planes, const RecordLayout& layout) {
  Image image{.width = layout.width, .height = layout.height, .channels = 3, .pixels = {}};
  image.pixels.resize(3 * layout.plane());
  const int64_t along_row = layout.by_columns ? layout.height : 1;
  const int64_t along_column = layout.by_columns ? 1 : layout.width;
  uint8_t* pixel = image.pixels.data();
  for (int y = 0; y < layout.height; ++y) {
    for (int x = 0; x < layout.width; ++x) {
      const uint8_t* red = planes + y * along_column + x * along_row;
      for (int channel = 0; channel < 3; ++channel) *pixel++ = red[channel * layout.plane()];
    }
  }
  return image;
}

class PlanarRecords final : public RawDataset {
 public:
  PlanarRecords(std::vector<ReadOnlyFile> files, std::vector<int64_t> begins, const RecordLayout& layout,
                std::vector<uint8_t> classes, std::vector<std::string> labels)
      : files_(std::move(files)), begins_(std::move(begins)), layout_(layout), classes_(std::move(classes)) {
    labels_ = std::move(labels);
  }

  int64_t size() const override { return static_cast<int64_t>(classes_.size()); }
  int label(int64_t index) const override { return classes_[index]; }

  std::string name(int64_t index) const override {
    const size_t file = FileOf(index);
    return absl::StrCat(fs::path(files_[file].path()).filename().string(), "[", index - begins_[file], "]");
  }

  absl::StatusOr<Image> image(int64_t index) const override {
    const size_t file = FileOf(index);
    const int64_t offset = (index - begins_[file]) * layout_.record() + layout_.header_bytes;
    std::vector<uint8_t> planes(3 * layout_.plane());
    RETURN_IF_ERROR(files_[file].ReadAt(offset, planes.data(), static_cast<int64_t>(planes.size())));
    return Interleave(planes.data(), layout_);
  }

 private:
  size_t FileOf(int64_t index) const {
    return std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
  }

  const std::vector<ReadOnlyFile> files_;
  const std::vector<int64_t> begins_;  // index of each file's first image
  const RecordLayout layout_;
  const std::vector<uint8_t> classes_;
};

}  // namespace

absl::StatusOr<std::vector<uint8_t>> ReadHeaders(const fs::path& path, const RecordLayout& layout) {
  ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
  ASSIGN_OR_RETURN(const int64_t records, CountRecords(file, layout));
  // Reads large blocks that contain many records, because a read call for each header would take too long.
  const int64_t stretch = std::max<int64_t>(1, (1 << 20) / layout.record());
  std::vector<uint8_t> bytes(std::min(stretch, records) * layout.record());
  std::vector<uint8_t> headers;
  headers.reserve(records * layout.header_bytes);
  for (int64_t first = 0; first < records; first += stretch) {
    const int64_t count = std::min(stretch, records - first);
    RETURN_IF_ERROR(file.ReadAt(first * layout.record(), bytes.data(), count * layout.record()));
    for (int64_t i = 0; i < count; ++i) {
      const auto header = bytes.begin() + i * layout.record();
      headers.insert(headers.end(), header, header + layout.header_bytes);
    }
  }
  return headers;
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenPlanarRecords(const std::vector<fs::path>& paths,
                                                           const RecordLayout& layout, std::vector<uint8_t> classes,
                                                           std::vector<std::string> labels) {
  std::vector<ReadOnlyFile> files;
  std::vector<int64_t> begins;
  int64_t images = 0;
  for (const fs::path& path : paths) {
    ASSIGN_OR_RETURN(ReadOnlyFile file, ReadOnlyFile::Open(path));
    ASSIGN_OR_RETURN(const int64_t records, CountRecords(file, layout));
    begins.push_back(images);
    images += records;
    files.push_back(std::move(file));
  }
  if (images != static_cast<int64_t>(classes.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths.front().string(), ": ", images, " images, but there are ", classes.size(), " labels"));
  }
  return std::make_unique<PlanarRecords>(std::move(files), std::move(begins), layout, std::move(classes),
                                         std::move(labels));
}

}  // namespace vitrine
