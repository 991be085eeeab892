// SPDX-License-Identifier: Apache-2.0
#include "imaging/png_chunks.h"

#include <zlib.h>

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/give_way.h"
#include "imaging/orientation.h"

namespace vitrine {
namespace {

constexpr int kMostHeaderChunks = 1024;
constexpr size_t kChecksumPiece = 64 << 10;  // bytes looked at before others may go: some 20 us
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
  std::string_view whole;    // length, type, content, checksum
  std::string_view type;     // four letters
  std::string_view content;  // may be empty

  bool critical() const { return (type[0] & 0x20) == 0; }
  bool ChecksumIsRight() const {
    uLong sum = crc32(0, nullptr, 0);
    for (std::string_view rest(type.data(), 4 + content.size()); !rest.empty();) {
      const std::string_view piece = rest.substr(0, kChecksumPiece);
      sum = crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
      rest.remove_prefix(piece.size());
      GiveWay();
    }
    return sum == U32(whole, whole.size() - 4);
  }
};

// The chunk at the front of `bytes`, or nothing if the file ends within it.
std::optional<Chunk> FirstChunk(std::string_view bytes) {
  if (bytes.size() < 12) return std::nullopt;
  const size_t length = U32(bytes, 0);
  if (length > bytes.size() - 12) return std::nullopt;
  return Chunk{bytes.substr(0, length + 12), bytes.substr(4, 4), bytes.substr(8, length)};
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
  if (!chunk.ChecksumIsRight()) return DamagedPng("the checksum of its header is wrong");
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

}  // namespace

absl::StatusOr<ImageHeader> ReadPngHeader(std::string_view bytes) {
  if (bytes.substr(0, kSignature.size()) != kSignature) return DamagedPng("its signature is wrong");
  ImageHeader header;
  header.format = ImageFormat::kPng;
  bytes.remove_prefix(kSignature.size());
  std::optional<Chunk> chunk = FirstChunk(bytes);
  if (!chunk) return DamagedPng("it ends within its header");
  if (absl::Status status = ReadImageHeader(*chunk, header); !status.ok()) return status;
  bool has_exif = false;
  for (int chunks = 0; chunks < kMostHeaderChunks; ++chunks) {
    bytes.remove_prefix(chunk->whole.size());
    // The chunk with the first pixels may end beyond what is here: its beginning is enough for a header.
    if (bytes.size() >= 8 && bytes.substr(4, 4) == "IDAT") return header;
    chunk = FirstChunk(bytes);
    if (!chunk) return DamagedPng("it ends within its header");
    if (chunk->type == "IEND") return DamagedPng("it has no pixels");
    if (chunk->type == "eXIf" && !has_exif) {
      if (!chunk->ChecksumIsRight()) return DamagedPng("a checksum is wrong");
      header.orientation = ExifOrientation(chunk->content);
      has_exif = true;
    }
  }
  return DamagedPng("it has more than 1024 chunks before its pixels");
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
    if (!chunk) return DamagedPng("its end chunk is missing");
    if (!chunk->ChecksumIsRight()) return DamagedPng("a checksum is wrong");
    at += chunk->whole.size();
    if (chunk->type == "IDAT") {
      if (pixels == kAfter) return DamagedPng("its pixels stand in two places");
      pixels = kWithin;
      keep(chunk->whole);
      continue;
    }
    if (pixels == kWithin) pixels = kAfter;
    const bool essential = chunk->type == "IHDR" || chunk->type == "PLTE" || chunk->type == "IEND";
    if (!essential && chunk->critical()) return DamagedPng("it holds a critical chunk that PNG does not define");
    if (essential || chunk->type == "tRNS") keep(chunk->whole);
    if (chunk->type != "IEND") continue;
    if (pixels == kBefore) return DamagedPng("it has no pixels");
    return kept;
  }
}

}  // namespace vitrine
