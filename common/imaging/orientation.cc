// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/orientation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace vitrine {
namespace {

constexpr size_t kMostMetadataBytes = 64 << 10;
constexpr size_t kEntryBytes = 12;
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kTiffMagic = 42;
constexpr std::string_view kExifHeader("Exif\0\0", 6);

// Reads little- or big-endian numbers of a TIFF block. The caller must not read beyond the block.
class TiffNumbers {
 public:
  TiffNumbers(std::string_view block, bool little_endian) : block_(block), little_endian_(little_endian) {}

  uint32_t Number(size_t at, size_t bytes) const { return bytes == 1 ? Byte(at) : bytes == 2 ? U16(at) : U32(at); }
  uint32_t U16(size_t at) const { return little_endian_ ? Byte(at) | Byte(at + 1) << 8 : Byte(at) << 8 | Byte(at + 1); }
  uint32_t U32(size_t at) const { return little_endian_ ? U16(at) | U16(at + 2) << 16 : U16(at) << 16 | U16(at + 2); }

 private:
  uint32_t Byte(size_t at) const { return static_cast<uint8_t>(block_[at]); }

  std::string_view block_;
  bool little_endian_;
};

// Returns the size in bytes of a TIFF integer type; 0 for other types. The standard requires SHORT for the orientation,
// but some programs write another type.
size_t IntegerBytes(uint32_t type) {
  switch (type) {
    case 6:  // SBYTE
      return 1;
    case 3:  // SHORT
    case 8:  // SSHORT
      return 2;
    case 4:   // LONG
    case 9:   // SLONG
    case 13:  // IFD
      return 4;
    default:
      return 0;
  }
}

// Returns the first value of the entry at `entry`, which must be within the block; 1 if it is no integer.
uint32_t FirstValue(const TiffNumbers& numbers, size_t entry, size_t block_bytes) {
  const size_t each = IntegerBytes(numbers.U16(entry + 2));
  const uint64_t bytes = uint64_t{each} * numbers.U32(entry + 4);
  if (bytes == 0) return 1;
  const uint64_t at = bytes <= 4 ? entry + 8 : numbers.U32(entry + 8);
  return at + bytes <= block_bytes ? numbers.Number(at, each) : 1;
}

// Returns the value of the orientation tag, which may be invalid; nullopt if there is no such tag.
std::optional<uint32_t> ExifOrientation(std::string_view tiff) {
  while (tiff.starts_with(kExifHeader)) tiff.remove_prefix(kExifHeader.size());
  tiff = tiff.substr(0, kMostMetadataBytes);
  if (tiff.size() < 10) return std::nullopt;
  const bool little_endian = tiff.starts_with("II");
  if (!little_endian && !tiff.starts_with("MM")) return std::nullopt;
  const TiffNumbers numbers(tiff, little_endian);
  // Also accepts a magic number in the other byte order, because some programs swap only the bytes of this number.
  if (numbers.U16(2) != kTiffMagic && numbers.U16(2) != kTiffMagic << 8) return std::nullopt;
  const size_t directory = numbers.U32(4);
  if (directory > tiff.size() - 2) return std::nullopt;
  const size_t entries = std::min<size_t>(numbers.U16(directory), (tiff.size() - directory - 2) / kEntryBytes);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (numbers.U16(entry) == kOrientationTag) return FirstValue(numbers, entry, tiff.size());
  }
  return std::nullopt;
}

// Returns the value of tiff:Orientation="6" or <tiff:Orientation>6<; 1 if there is none.
uint32_t XmpOrientation(std::string_view xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  xmp = xmp.substr(0, kMostMetadataBytes);
  for (size_t at = xmp.find(kName); at != std::string_view::npos; at = xmp.find(kName, at + 1)) {
    const std::string_view rest = xmp.substr(at + kName.size());
    const size_t digit = rest.starts_with("=\"") ? 2 : rest.starts_with(">") ? 1 : rest.size();
    if (digit < rest.size() && rest[digit] >= '0' && rest[digit] <= '9')
      return static_cast<uint32_t>(rest[digit] - '0');
  }
  return 1;
}

// Maps pixel (y, x) of the upright image to its position in the stored image: origin + y * down + x * right, in pixels.
struct Walk {
  ptrdiff_t origin, down, right;
};

Walk WalkOf(int orientation, ptrdiff_t width, ptrdiff_t height) {
  const ptrdiff_t last_row = (height - 1) * width;
  const ptrdiff_t last_column = width - 1;
  switch (orientation) {
    case 2:
      return {last_column, width, -1};
    case 3:
      return {last_row + last_column, -width, -1};
    case 4:
      return {last_row, -width, 1};
    case 5:
      return {0, 1, width};
    case 6:
      return {last_row, 1, -width};
    case 7:
      return {last_row + last_column, -1, -width};
    case 8:
      return {last_column, -1, width};
    default:
      return {0, width, 1};
  }
}

// Copies in tiles. Otherwise reading along the columns of the stored image would miss the cache at every pixel.
template <int kChannels>
void CopyAlong(const Walk& walk, const uint8_t* stored, Image& upright) {
  constexpr int kTile = 32;
  for (int top = 0; top < upright.height; top += kTile) {
    const int bottom = std::min(top + kTile, upright.height);
    for (int left = 0; left < upright.width; left += kTile) {
      const int right = std::min(left + kTile, upright.width);
      for (int y = top; y < bottom; ++y) {
        uint8_t* out = upright.pixels.data() + (static_cast<ptrdiff_t>(y) * upright.width + left) * kChannels;
        for (int x = left; x < right; ++x, out += kChannels) {
          const uint8_t* in = stored + (walk.origin + y * walk.down + x * walk.right) * kChannels;
          for (int c = 0; c < kChannels; ++c) out[c] = in[c];
        }
      }
    }
  }
}

}  // namespace

int OrientationOf(std::string_view exif, std::string_view xmp) {
  const std::optional<uint32_t> stated = ExifOrientation(exif);
  const uint32_t orientation = stated ? *stated : XmpOrientation(xmp);
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
}

Image Orient(Image stored, int orientation) {
  if (orientation <= 1 || orientation > 8) return stored;
  Image upright;
  upright.width = SwapsSides(orientation) ? stored.height : stored.width;
  upright.height = SwapsSides(orientation) ? stored.width : stored.height;
  upright.channels = stored.channels;
  upright.pixels.resize(stored.pixels.size());
  const Walk walk = WalkOf(orientation, stored.width, stored.height);
  if (stored.channels == 1) {
    CopyAlong<1>(walk, stored.pixels.data(), upright);
  } else {
    CopyAlong<3>(walk, stored.pixels.data(), upright);
  }
  return upright;
}

}  // namespace vitrine
