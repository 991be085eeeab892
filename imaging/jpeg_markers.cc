// SPDX-License-Identifier: Apache-2.0
#include "imaging/jpeg_markers.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "imaging/orientation.h"

namespace vitrine {
namespace {

constexpr int kMostHeaderSegments = 1024;
constexpr size_t kMostHeaderGarbage = 64 << 10;
constexpr std::string_view kExifPrefix("Exif\0\0", 6);

enum Marker : int {
  kNoMarker = -1,  // the data ended
  kTemporary = 0x01,
  kSof0 = 0xC0,  // baseline
  kSof1 = 0xC1,  // extended sequential
  kSof2 = 0xC2,  // progressive
  kHuffmanTables = 0xC4,
  kJpegExtension = 0xC8,
  kArithmeticConditioning = 0xCC,
  kSof15 = 0xCF,
  kRestart0 = 0xD0,
  kRestart7 = 0xD7,
  kStartOfImage = 0xD8,
  kEndOfImage = 0xD9,
  kStartOfScan = 0xDA,
  kApp1 = 0xE1,
};

bool IsRestart(int marker) {
  return marker >= kRestart0 && marker <= kRestart7;
}

bool IsFrame(int marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kHuffmanTables && marker != kJpegExtension &&
         marker != kArithmeticConditioning;
}

absl::Status DamagedJpeg(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the JPEG is damaged or cut short: ", what));
}

// Walks from marker to marker, by the rules that libjpeg follows: bytes before a marker are skipped, 0xFF may be
// repeated, 0xFF 0x00 is no marker.
class MarkerReader {
 public:
  explicit MarkerReader(std::string_view bytes) : bytes_(bytes) {}

  int Next() {
    while (position_ < bytes_.size()) {
      const void* found = std::memchr(bytes_.data() + position_, 0xFF, bytes_.size() - position_);
      if (found == nullptr) break;
      const size_t at = static_cast<const char*>(found) - bytes_.data();
      skipped_ += at - position_;
      position_ = at;
      while (position_ < bytes_.size() && Byte(position_) == 0xFF) ++position_;
      if (position_ == bytes_.size()) break;
      const int marker = Byte(position_++);
      if (marker != 0) return marker;
    }
    position_ = bytes_.size();
    return kNoMarker;
  }

  // The content of the segment whose marker Next() has just returned, or nothing if the file ends within it.
  std::optional<std::string_view> Segment() {
    if (bytes_.size() - position_ < 2) return std::nullopt;
    const size_t length = Byte(position_) << 8 | Byte(position_ + 1);
    if (length < 2 || length > bytes_.size() - position_) return std::nullopt;
    const std::string_view content = bytes_.substr(position_ + 2, length - 2);
    position_ += length;
    return content;
  }

  size_t skipped() const { return skipped_; }

 private:
  int Byte(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }

  std::string_view bytes_;
  size_t position_ = 0;
  size_t skipped_ = 0;
};

// Start of frame: precision, height, width, components. Fills the stored size.
absl::Status ReadFrame(int marker, std::string_view content, ImageHeader& header) {
  if (marker > kSof2) {
    const char* kind = marker == 0xC3                     ? "lossless"
                       : marker >= 0xC9 && marker <= 0xCA ? "arithmetic-coded"
                       : marker == 0xCB                   ? "lossless arithmetic-coded"
                                                          : "hierarchical";
    return absl::InvalidArgumentError(
        absl::StrCat("the picture is a ", kind, " JPEG, which is not supported; send a baseline or progressive JPEG"));
  }
  if (content.size() < 6) return DamagedJpeg("its frame header is too short");
  const auto byte = [&](size_t at) { return static_cast<int>(static_cast<uint8_t>(content[at])); };
  if (byte(0) != 8) {
    return absl::InvalidArgumentError(absl::StrCat("the picture is a JPEG with ", byte(0),
                                                   " bits per sample, which is not supported; send one with 8 bits"));
  }
  header.stored_height = byte(1) << 8 | byte(2);
  header.stored_width = byte(3) << 8 | byte(4);
  const int components = byte(5);
  if (header.stored_height == 0 || header.stored_width == 0)
    return DamagedJpeg("its header states no height or no width");
  if (components != 1 && components != 3 && components != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("the picture is a JPEG with ", components,
                     " colour components, which is not supported; send grey, colour or CMYK with 1, 3 or 4"));
  }
  if (content.size() != 6u + 3u * components) return DamagedJpeg("its frame header has a wrong length");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageHeader> ReadJpegHeader(std::string_view bytes) {
  ImageHeader header;
  header.format = ImageFormat::kJpeg;
  bool has_frame = false;
  bool has_exif = false;
  MarkerReader reader(bytes);
  if (reader.Next() != kStartOfImage) return DamagedJpeg("its start marker is missing");
  for (int segments = 0; segments < kMostHeaderSegments; ++segments) {
    const int marker = reader.Next();
    if (reader.skipped() > kMostHeaderGarbage)
      return DamagedJpeg("its header holds more than 64 KiB outside of segments");
    if (marker == kNoMarker) return DamagedJpeg("it ends within its header");
    if (marker == kEndOfImage || marker == kStartOfImage) return DamagedJpeg("its header holds no picture");
    if (marker == kTemporary || IsRestart(marker)) continue;  // have no content
    const std::optional<std::string_view> content = reader.Segment();
    if (!content) return DamagedJpeg("it ends within its header");
    if (IsFrame(marker)) {
      if (has_frame) return DamagedJpeg("it has two frame headers");
      if (absl::Status status = ReadFrame(marker, *content, header); !status.ok()) return status;
      has_frame = true;
    } else if (marker == kApp1 && !has_exif && content->substr(0, kExifPrefix.size()) == kExifPrefix) {
      header.orientation = ExifOrientation(content->substr(kExifPrefix.size()));
      has_exif = true;
    } else if (marker == kStartOfScan) {
      if (!has_frame) return DamagedJpeg("its frame header is missing");
      return header;
    }
  }
  return DamagedJpeg("its header has more than 1024 segments");
}

absl::Status CheckJpegScans(std::string_view bytes, int max_scans) {
  MarkerReader reader(bytes);
  reader.Next();  // start of image
  int scans = 0;
  int components = 0;
  std::bitset<256> sent;  // by component id
  for (int marker = reader.Next(); marker != kNoMarker; marker = reader.Next()) {
    if (marker == kEndOfImage) {
      return static_cast<int>(sent.count()) == components ? absl::OkStatus()
                                                          : DamagedJpeg("a colour component is missing");
    }
    if (marker == kTemporary || IsRestart(marker)) continue;
    if (marker == kStartOfScan && ++scans > max_scans) {
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG has more than ", max_scans, " scans; send a baseline JPEG or one with fewer scans"));
    }
    const std::optional<std::string_view> content = reader.Segment();
    if (!content) break;
    if (IsFrame(marker) && content->size() >= 6) components = static_cast<uint8_t>((*content)[5]);
    if (marker != kStartOfScan || content->empty()) continue;
    const size_t in_scan = std::min<size_t>(static_cast<uint8_t>((*content)[0]), (content->size() - 1) / 2);
    for (size_t i = 0; i < in_scan; ++i) sent.set(static_cast<uint8_t>((*content)[1 + 2 * i]));
  }
  return DamagedJpeg("its end marker is missing");
}

}  // namespace vitrine
