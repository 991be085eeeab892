// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/png_chunks.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/imaging/orientation.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostHeaderChunks = 1024;
constexpr int kMostChunks = 64 << 10;
constexpr size_t kMostTextBytes = 64 << 10;
constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr size_t kMostPngSide = 0x7FFFFFFF;

absl::Status DamagedPng(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the PNG is damaged or cut short: ", what));
}

uint32_t U32(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])); };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

struct Chunk {
  std::string_view whole;    // the chunk's length, type, content and checksum
  std::string_view type;     // four letters
  std::string_view content;  // may be empty

  bool critical() const { return (type[0] & 0x20) == 0; }
  bool ChecksumIsRight() const {
    const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(type.data()), 4 + content.size());
    return sum == U32(whole, whole.size() - 4);
  }
};

// Returns for example "IDAT chunk", for error messages.
std::string NameOf(std::string_view type) {
  return absl::StrCat(absl::CHexEscape(absl::string_view(type.data(), type.size())), " chunk");
}

// Returns the chunk at the start of `bytes`; nullopt if the file ends within the chunk.
std::optional<Chunk> FirstChunk(std::string_view bytes) {
  if (bytes.size() < 12) return std::nullopt;
  const size_t length = U32(bytes, 0);
  if (length > bytes.size() - 12) return std::nullopt;
  return Chunk{bytes.substr(0, length + 12), bytes.substr(4, 4), bytes.substr(8, length)};
}

// Returns the error for a file that ends before or within a chunk; `bytes` is the start of the chunk.
absl::Status EndsEarly(std::string_view bytes) {
  if (bytes.empty()) return DamagedPng("its end chunk (IEND) is missing; send the whole file");
  if (bytes.size() < 8) return DamagedPng("it ends within the header of a chunk; send the whole file");
  return DamagedPng(absl::StrCat("it ends within its ", NameOf(bytes.substr(4, 4)), "; send the whole file"));
}

absl::Status WrongChecksum(std::string_view type) {
  return DamagedPng(absl::StrCat("the checksum of its ", NameOf(type), " is wrong"));
}

bool IsDepthOf(int depth, int colour) {
  switch (colour) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

absl::Status ReadImageHeader(const Chunk& chunk, ImageHeader& header) {
  if (chunk.type != "IHDR" || chunk.content.size() != 13) return DamagedPng("it does not begin with its header");
  if (!chunk.ChecksumIsRight()) return WrongChecksum(chunk.type);
  const size_t width = U32(chunk.content, 0);
  const size_t height = U32(chunk.content, 4);
  if (width == 0 || height == 0 || width > kMostPngSide || height > kMostPngSide) {
    return DamagedPng(absl::StrCat("its header states ", width, " x ", height, " pixels"));
  }
  const auto byte = [&](size_t at) { return static_cast<int>(static_cast<uint8_t>(chunk.content[at])); };
  if (!IsDepthOf(byte(8), byte(9)) || byte(10) != 0 || byte(11) != 0 || byte(12) > 1) {
    return DamagedPng("its header states a colour type, depth or method that PNG does not have");
  }
  header.stored_width = static_cast<int>(width);
  header.stored_height = static_cast<int>(height);
  return absl::OkStatus();
}

// Decompresses at most kMostTextBytes. If the data is damaged, returns the bytes before the damage.
std::string Inflated(std::string_view compressed) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return "";
  std::string text(kMostTextBytes, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_SYNC_FLUSH);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

// Removes from `text` the part up to the next zero byte, and returns that part without the zero.
std::string_view UpToZero(std::string_view& text) {
  const std::string_view front = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(text.size(), front.size() + 1));
  return front;
}

// Returns the text, at most 64 KiB, of a text chunk with this keyword; nullopt for other chunks.
std::optional<std::string> TextOf(const Chunk& chunk, std::string_view keyword) {
  std::string_view rest = chunk.content;
  if (chunk.type != "tEXt" && chunk.type != "zTXt" && chunk.type != "iTXt") return std::nullopt;
  if (!rest.starts_with(keyword) || UpToZero(rest) != keyword) return std::nullopt;
  bool compressed = chunk.type == "zTXt";
  if (compressed) rest = rest.substr(std::min<size_t>(1, rest.size()));  // skips the method
  if (chunk.type == "iTXt") {
    compressed = rest.starts_with('\1');
    rest = rest.substr(std::min<size_t>(2, rest.size()));  // skips the compression flag and method
    UpToZero(rest);                                        // skips the language
    UpToZero(rest);                                        // skips the translated keyword
  }
  return compressed ? Inflated(rest) : std::string(rest.substr(0, kMostTextBytes));
}

// Returns the bytes of a profile that ImageMagick wrote as text: an empty line, its name, its length, then hexadecimal
// digits.
std::string RawProfile(std::string_view text) {
  for (int line = 0; line < 3; ++line) text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  std::string digits;
  for (const char c : text) {
    if (absl::ascii_isxdigit(static_cast<unsigned char>(c))) digits.push_back(c);
  }
  digits.resize(digits.size() / 2 * 2);
  return absl::HexStringToBytes(digits);
}

// Finds the orientation in the chunks of a file. For each kind of metadata, the first chunk counts.
class Metadata {
 public:
  absl::Status Take(const Chunk& chunk) {
    if (chunk.type == "eXIf" && exif_.empty()) {
      if (!chunk.ChecksumIsRight()) return WrongChecksum(chunk.type);
      exif_ = chunk.content;
    }
    if (!raw_profile_) raw_profile_ = TextOf(chunk, "Raw profile type exif");
    if (!xmp_) xmp_ = TextOf(chunk, "XML:com.adobe.xmp");
    return absl::OkStatus();
  }

  int orientation() const {
    const std::string profile = raw_profile_ && exif_.empty() ? RawProfile(*raw_profile_) : "";
    return OrientationOf(exif_.empty() ? profile : exif_, xmp_.value_or(""));
  }

 private:
  std::string_view exif_;
  std::optional<std::string> raw_profile_;  // text, as stored
  std::optional<std::string> xmp_;
};

}  // namespace

absl::StatusOr<ImageHeader> ReadPngHeader(std::string_view bytes) {
  if (bytes.substr(0, kSignature.size()) != kSignature) return DamagedPng("its signature is wrong");
  ImageHeader header;
  header.format = ImageFormat::kPng;
  bytes.remove_prefix(kSignature.size());
  std::optional<Chunk> chunk = FirstChunk(bytes);
  if (!chunk) return DamagedPng("it ends within its header");
  RETURN_IF_ERROR(ReadImageHeader(*chunk, header));
  Metadata metadata;
  bool has_pixels = false;
  for (int chunks = 0; chunks < (has_pixels ? kMostChunks : kMostHeaderChunks); ++chunks) {
    bytes.remove_prefix(chunk->whole.size());
    // Checks only the start of the chunk, because the file may be cut off within the first chunk of pixels.
    has_pixels = has_pixels || (bytes.size() >= 8 && bytes.substr(4, 4) == "IDAT");
    chunk = FirstChunk(bytes);
    if (!chunk && !has_pixels) return EndsEarly(bytes);
    if (!chunk || chunk->type == "IEND") {
      if (!has_pixels) return DamagedPng("it has no pixels (IDAT)");
      header.orientation = metadata.orientation();
      return header;
    }
    RETURN_IF_ERROR(metadata.Take(*chunk));
  }
  return DamagedPng(absl::StrCat("it has more than ", has_pixels ? "65536 chunks" : "1024 chunks before its pixels"));
}

absl::StatusOr<std::vector<std::string_view>> SelectPngPixels(std::string_view bytes) {
  std::vector<std::string_view> kept = {bytes.substr(0, kSignature.size())};
  const auto keep = [&](std::string_view part) {
    if (kept.back().data() + kept.back().size() == part.data()) {
      kept.back() = std::string_view(kept.back().data(), kept.back().size() + part.size());
    } else {
      kept.push_back(part);
    }
  };
  enum { kBefore, kWithin, kAfter } pixels = kBefore;
  for (size_t at = kSignature.size();;) {
    const std::optional<Chunk> chunk = FirstChunk(bytes.substr(at));
    if (!chunk) return EndsEarly(bytes.substr(at));
    if (!chunk->ChecksumIsRight()) return WrongChecksum(chunk->type);
    at += chunk->whole.size();
    if (chunk->type == "IDAT") {
      if (pixels == kAfter) return DamagedPng("its pixels (IDAT) are in two places");
      pixels = kWithin;
      keep(chunk->whole);
      continue;
    }
    if (pixels == kWithin) pixels = kAfter;
    const bool essential = chunk->type == "IHDR" || chunk->type == "PLTE" || chunk->type == "IEND";
    if (!essential && chunk->critical()) {
      return DamagedPng(absl::StrCat("PNG does not define its critical ", NameOf(chunk->type)));
    }
    if (essential || chunk->type == "tRNS") keep(chunk->whole);
    if (chunk->type != "IEND") continue;
    if (pixels == kBefore) return DamagedPng("it has no pixels (IDAT)");
    return kept;
  }
}

}  // namespace vitrine
