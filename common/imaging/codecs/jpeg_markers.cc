// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/jpeg_markers.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/imaging/orientation.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostHeaderSegments = 1024;
constexpr size_t kMostHeaderGarbage = 64 << 10;
constexpr std::string_view kExifPrefix("Exif\0\0", 6);
constexpr std::string_view kXmpPrefix("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr size_t kFrameFront = 6;  // bytes of a frame header before its components, which have 3 bytes each

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
  kQuantizationTables = 0xDB,
  kRestartInterval = 0xDD,
  kApp0 = 0xE0,
  kApp1 = 0xE1,
  kApp15 = 0xEF,
  kComment = 0xFE,
};

bool IsRestart(int marker) {
  return marker >= kRestart0 && marker <= kRestart7;
}

bool IsFrame(int marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kHuffmanTables && marker != kJpegExtension &&
         marker != kArithmeticConditioning;
}

// Returns the JPEG standard's name of a marker.
std::string NameOf(int marker) {
  if (IsFrame(marker)) return absl::StrCat("SOF", marker - kSof0);
  if (marker >= kApp0 && marker <= kApp15) return absl::StrCat("APP", marker - kApp0);
  switch (marker) {
    case kHuffmanTables:
      return "DHT";
    case kStartOfScan:
      return "SOS";
    case kQuantizationTables:
      return "DQT";
    case kRestartInterval:
      return "DRI";
    case kComment:
      return "COM";
    default:
      return absl::StrFormat("FF%02X", marker);
  }
}

// Reads markers by libjpeg's rules: bytes before a marker are skipped, 0xFF may be repeated, and 0xFF 0x00 is no
// marker.
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

  // Returns the content of the segment whose marker Next() just returned; nullopt if the file ends within the segment.
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

// Parses a start of frame (precision, height, width, components) and sets the stored size.
absl::Status ReadFrame(int marker, std::string_view content, ImageHeader& header) {
  if (marker > kSof2) {
    const char* kind = marker == 0xC3                     ? "lossless"
                       : marker >= 0xC9 && marker <= 0xCA ? "arithmetic-coded"
                       : marker == 0xCB                   ? "lossless arithmetic-coded"
                                                          : "hierarchical";
    return absl::InvalidArgumentError(
        absl::StrCat("the image is a ", kind, " JPEG, which is not supported; send a baseline or progressive JPEG"));
  }
  if (content.size() < kFrameFront) return DamagedJpeg("its frame header (SOF) is too short");
  const auto byte = [&](size_t at) { return static_cast<int>(static_cast<uint8_t>(content[at])); };
  if (byte(0) != 8) {
    return absl::InvalidArgumentError(absl::StrCat("the image is a JPEG with ", byte(0),
                                                   " bits per sample, which is not supported; send one with 8 bits"));
  }
  header.stored_height = byte(1) << 8 | byte(2);
  header.stored_width = byte(3) << 8 | byte(4);
  const int components = byte(5);
  if (header.stored_height == 0 || header.stored_width == 0)
    return DamagedJpeg("its frame header (SOF) states no height or no width");
  if (components != 1 && components != 3 && components != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image is a JPEG with ", components,
                     " colour components, which is not supported; send grey, colour or CMYK with 1, 3 or 4"));
  }
  if (content.size() != kFrameFront + 3u * components) return DamagedJpeg("its frame header (SOF) has a wrong length");
  return absl::OkStatus();
}

// Records which components of the frame were in a scan. Components are identified by their index in the frame, because
// ids may repeat. Component i of a scan is the first component of the frame that has the same id and an index of at
// least i, as in libjpeg-turbo.
class SentComponents {
 public:
  void TakeFrame(std::string_view content) {
    if (!ids_.empty()) return;  // libjpeg rejects a second frame
    for (size_t at = kFrameFront; at < content.size(); at += 3) ids_.push_back(content[at]);
  }

  void TakeScan(std::string_view content) {
    if (content.empty()) return;
    const size_t in_scan = std::min<size_t>(static_cast<uint8_t>(content[0]), (content.size() - 1) / 2);
    for (size_t i = 0; i < in_scan; ++i) {
      const size_t component = ids_.find(content[1 + 2 * i], i);
      if (component < sent_.size()) sent_.set(component);
    }
  }

  // Returns OK if every component of the frame has had a scan.
  absl::Status Check() const {
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (!sent_.test(i)) {
        return DamagedJpeg(absl::StrCat("a colour component is missing, number ", i + 1, " of ", ids_.size()));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string ids_;
  std::bitset<4> sent_;  // bit i: component i of the frame was in a scan
};

}  // namespace

absl::Status DamagedJpeg(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the JPEG is damaged or cut short: ", what));
}

absl::StatusOr<ImageHeader> ReadJpegHeader(std::string_view bytes) {
  ImageHeader header;
  header.format = ImageFormat::kJpeg;
  bool has_frame = false;
  std::string_view exif, xmp;
  MarkerReader reader(bytes);
  if (reader.Next() != kStartOfImage) return DamagedJpeg("its start marker is missing");
  for (int segments = 0; segments < kMostHeaderSegments; ++segments) {
    const int marker = reader.Next();
    if (reader.skipped() > kMostHeaderGarbage)
      return DamagedJpeg("its header holds more than 64 KiB outside of segments");
    if (marker == kNoMarker) return DamagedJpeg("it ends within its header");
    if (marker == kEndOfImage || marker == kStartOfImage) return DamagedJpeg("its header holds no image");
    if (marker == kTemporary || IsRestart(marker)) continue;  // these segments have no content
    const std::optional<std::string_view> content = reader.Segment();
    if (!content)
      return DamagedJpeg(absl::StrCat("it ends within its ", NameOf(marker), " segment; send the whole file"));
    if (IsFrame(marker)) {
      if (has_frame) return DamagedJpeg("it has two frame headers (SOF)");
      RETURN_IF_ERROR(ReadFrame(marker, *content, header));
      has_frame = true;
    } else if (marker == kApp1 && exif.empty() && content->starts_with(kExifPrefix)) {
      exif = *content;
    } else if (marker == kApp1 && content->starts_with(kXmpPrefix)) {
      xmp = content->substr(kXmpPrefix.size());
    } else if (marker == kStartOfScan) {
      if (!has_frame) return DamagedJpeg("its frame header is missing before its first scan (SOS)");
      header.orientation = OrientationOf(exif, xmp);
      return header;
    }
  }
  return DamagedJpeg("its header has more than 1024 segments");
}

absl::StatusOr<bool> CheckJpegScans(std::string_view bytes, int max_scans) {
  MarkerReader reader(bytes);
  reader.Next();  // skips the marker SOI (start of image)
  int scans = 0;
  SentComponents sent;
  int marker = reader.Next();
  for (; marker != kNoMarker && marker != kEndOfImage; marker = reader.Next()) {
    if (marker == kTemporary || IsRestart(marker)) continue;
    if (marker == kStartOfScan && ++scans > max_scans) {
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG has more than ", max_scans, " scans; send a baseline JPEG or one with fewer scans"));
    }
    const std::optional<std::string_view> content = reader.Segment();
    if (!content)
      return DamagedJpeg(absl::StrCat("it ends within its ", NameOf(marker), " segment; send the whole file"));
    if (IsFrame(marker)) sent.TakeFrame(*content);
    if (marker == kStartOfScan) sent.TakeScan(*content);
  }
  RETURN_IF_ERROR(sent.Check());
  return marker == kEndOfImage;
}

}  // namespace vitrine
