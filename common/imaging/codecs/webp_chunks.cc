// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/webp_chunks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/imaging/orientation.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostWebpChunks = 1024;
constexpr size_t kRiffHeader = 12;  // size of "RIFF", length and "WEBP"
constexpr size_t kChunkHeader = 8;  // size of four letters and length
constexpr std::string_view kLossyStart = "\x9D\x01\x2A";

// Flags in the first byte of VP8X.
constexpr int kAnimationFlag = 0x02;
constexpr int kXmpFlag = 0x04;
constexpr int kExifFlag = 0x08;

absl::Status DamagedWebp(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the WebP is damaged or cut short: ", what));
}

// Reads a little-endian number of `count` bytes, at most 4.
uint32_t LittleEndian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct RiffChunk {
  std::string_view type;
  std::string_view content;  // the available part of the content
  size_t stated = 0;         // size of the content in bytes, as stated
  size_t whole() const { return kChunkHeader + stated + stated % 2; }
  bool complete() const { return content.size() == stated; }
};

// Returns the chunk at the start of `bytes`; nullopt if `bytes` ends within its header.
std::optional<RiffChunk> FirstRiffChunk(std::string_view bytes) {
  if (bytes.size() < kChunkHeader) return std::nullopt;
  const size_t stated = LittleEndian(bytes, 4, 4);
  return RiffChunk{bytes.substr(0, 4), bytes.substr(kChunkHeader, stated), stated};
}

bool HoldsPixels(const RiffChunk& chunk) {
  return chunk.type == "VP8 " || chunk.type == "VP8L";
}

absl::Status ReadLossySize(std::string_view content, ImageHeader& header) {
  if (content.size() < 10) return DamagedWebp("it ends within its header");
  const bool is_key_frame = (content[0] & 1) == 0;
  if (!is_key_frame || content.substr(3, 3) != kLossyStart) return DamagedWebp("its pixels do not begin as an image");
  header.stored_width = static_cast<int>(LittleEndian(content, 6, 2) & 0x3FFF);  // the upper two bits request upscaling
  header.stored_height = static_cast<int>(LittleEndian(content, 8, 2) & 0x3FFF);
  return absl::OkStatus();
}

absl::Status ReadLosslessSize(std::string_view content, ImageHeader& header) {
  if (content.size() < 5) return DamagedWebp("it ends within its header");
  const uint32_t bits = LittleEndian(content, 1, 4);
  if (content[0] != 0x2F || bits >> 29 != 0) return DamagedWebp("its pixels do not begin as an image");
  header.stored_width = static_cast<int>(bits & 0x3FFF) + 1;
  header.stored_height = static_cast<int>(bits >> 14 & 0x3FFF) + 1;
  return absl::OkStatus();
}

absl::Status ReadExtendedSize(std::string_view content, ImageHeader& header) {
  if (content.size() < 10) return DamagedWebp("it ends within its header");
  if ((content[0] & kAnimationFlag) != 0) {
    return absl::InvalidArgumentError(
        "the image is an animated WebP, which is not supported; send one of its frames as a JPEG, PNG or WebP");
  }
  header.stored_width = static_cast<int>(LittleEndian(content, 4, 3)) + 1;
  header.stored_height = static_cast<int>(LittleEndian(content, 7, 3)) + 1;
  return absl::OkStatus();
}

absl::Status ReadSize(const RiffChunk& first, ImageHeader& header) {
  if (first.type == "VP8 ") return ReadLossySize(first.content, header);
  if (first.type == "VP8L") return ReadLosslessSize(first.content, header);
  if (first.type == "VP8X") return ReadExtendedSize(first.content, header);
  return DamagedWebp("it begins with neither pixels nor a header");
}

// Returns the bytes within the length that the RIFF header states. Always includes the RIFF header itself, because some
// files state a length of 0.
std::string_view Covered(std::string_view bytes) {
  const uint64_t stated = uint64_t{kChunkHeader} + LittleEndian(bytes, 4, 4);
  return bytes.substr(0, static_cast<size_t>(std::clamp<uint64_t>(stated, kRiffHeader, bytes.size())));
}

// Sets the orientation from the chunks in `left`, which starts with VP8X. Reads metadata only if VP8X's flags announce
// it, because Pillow and browsers get no other metadata from libwebp.
absl::Status ReadOrientation(std::string_view left, ImageHeader& header) {
  std::string_view exif, xmp;
  std::optional<RiffChunk> chunk = FirstRiffChunk(left);
  const int flags = static_cast<uint8_t>(chunk->content[0]);
  for (int chunks = 0; chunk.has_value(); ++chunks) {
    if (chunks == kMostWebpChunks) return DamagedWebp("it has more than 1024 chunks");
    if (chunk->complete() && chunk->type == "EXIF" && exif.empty() && (flags & kExifFlag) != 0) exif = chunk->content;
    if (chunk->complete() && chunk->type == "XMP " && xmp.empty() && (flags & kXmpFlag) != 0) xmp = chunk->content;
    left.remove_prefix(std::min(left.size(), chunk->whole()));
    chunk = FirstRiffChunk(left);
  }
  header.orientation = OrientationOf(exif, xmp);
  return absl::OkStatus();
}

}  // namespace

bool BeginsAsWebp(std::string_view bytes) {
  return bytes.substr(0, 4) == "RIFF" && bytes.size() >= kRiffHeader && bytes.substr(8, 4) == "WEBP";
}

absl::StatusOr<ImageHeader> ReadWebpHeader(std::string_view bytes) {
  if (!BeginsAsWebp(bytes)) return DamagedWebp("its signature is wrong");
  ImageHeader header;
  header.format = ImageFormat::kWebp;
  const std::string_view left = Covered(bytes).substr(kRiffHeader);
  const std::optional<RiffChunk> chunk = FirstRiffChunk(left);
  if (!chunk) return DamagedWebp("it ends within its header");
  const bool is_extended = chunk->type == "VP8X";
  RETURN_IF_ERROR(ReadSize(*chunk, header));
  if (header.stored_width == 0 || header.stored_height == 0) {
    return DamagedWebp("its header states no height or no width");
  }
  // In a simple file, chunks after the pixels are ignored.
  if (is_extended) RETURN_IF_ERROR(ReadOrientation(left, header));
  return header;
}

absl::Status CheckWebpIsWhole(std::string_view bytes) {
  const std::string_view covered = Covered(bytes);
  if (covered.size() < uint64_t{kChunkHeader} + LittleEndian(bytes, 4, 4)) return DamagedWebp("it ends early");
  std::string_view left = covered.substr(kRiffHeader);
  int images = 0;
  for (int chunks = 0; !left.empty(); ++chunks) {
    if (chunks == kMostWebpChunks) return DamagedWebp("it has more than 1024 chunks");
    const std::optional<RiffChunk> chunk = FirstRiffChunk(left);
    if (!chunk) return DamagedWebp("it ends within the header of a chunk; send the whole file");
    if (!chunk->complete()) {
      const std::string name = absl::CHexEscape(absl::string_view(chunk->type.data(), chunk->type.size()));
      return DamagedWebp(absl::StrCat("it ends within its ", name, " chunk; send the whole file"));
    }
    if (HoldsPixels(*chunk) && ++images > 1) return DamagedWebp("its pixels are in two places");
    left.remove_prefix(std::min(left.size(), chunk->whole()));
  }
  return images == 1 ? absl::OkStatus() : DamagedWebp("it has no pixels");
}

}  // namespace vitrine
