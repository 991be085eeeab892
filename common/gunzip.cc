// SPDX-License-Identifier: Apache-2.0
#include "common/gunzip.h"

#include <zlib.h>

#include <array>
#include <cstdint>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/failed_allocation.h"

namespace vitrine {
namespace {

constexpr absl::string_view kMagic = "\x1f\x8b\x08";
constexpr size_t kSmallestMember = 18;  // size of header and trailer
// Maximum compression ratio of deflate.
constexpr size_t kMostPerByte = 1032;
// Values of windowBits for inflateInit2, with the largest window. The first value accepts only a gzip header, the
// second only a zlib header.
constexpr int kGzipOnly = 15 + 16, kZlibOnly = 15;

absl::Status Damaged(int code = Z_DATA_ERROR) {
  if (code == Z_MEM_ERROR) FailAllocation();
  return absl::InvalidArgumentError("what is said to be gzip is damaged, cut, or more than one member");
}

absl::Status DamagedDeflate(int code) {
  if (code == Z_MEM_ERROR) FailAllocation();
  return absl::InvalidArgumentError("what is said to be deflate is damaged or cut; it must be one zlib stream");
}

// Decompresses one stream to `size` bytes. Returns zlib's code: Z_STREAM_END on success.
int Decompress(absl::string_view compressed, int window_bits, size_t size, std::string& decompressed) {
  z_stream stream = {};
  if (const int code = inflateInit2(&stream, window_bits); code != Z_OK) return code;
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  // The spare byte is needed because inflate detects the end of the stream only if output space is left.
  decompressed.resize(size + 1);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));  // zlib does not modify it
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(decompressed.data());
  stream.avail_out = static_cast<uInt>(decompressed.size());
  // inflate also checks the checksum in the trailer, and for gzip the size.
  const int code = inflate(&stream, Z_FINISH);
  if (code == Z_STREAM_END && (stream.avail_in != 0 || stream.total_out != size)) return Z_DATA_ERROR;
  decompressed.resize(size);
  return code;
}

}  // namespace

bool IsGzip(absl::string_view bytes) {
  return absl::StartsWith(bytes, kMagic);
}

size_t StatedGunzipSize(absl::string_view compressed) {
  if (compressed.size() < kSmallestMember) return 0;
  size_t size = 0;  // the last four bytes, little-endian
  for (size_t i = 1; i <= sizeof(uint32_t); ++i) {
    size = size << 8 | static_cast<unsigned char>(compressed[compressed.size() - i]);
  }
  return size;
}

absl::StatusOr<std::string> Gunzip(absl::string_view compressed, size_t max_bytes) {
  if (!IsGzip(compressed) || compressed.size() < kSmallestMember) return Damaged();
  const size_t size = StatedGunzipSize(compressed);
  if (size / kMostPerByte > compressed.size()) return Damaged();  // `size` is wrong: `compressed` is truncated
  if (size > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(compressed.size(), " compressed bytes decompress to ", size,
                                                     "; at most ", max_bytes, " are taken"));
  }
  std::string decompressed;
  if (const int code = Decompress(compressed, kGzipOnly, size, decompressed); code != Z_STREAM_END)
    return Damaged(code);
  return decompressed;
}

absl::StatusOr<size_t> SizeOfInflated(absl::string_view compressed, size_t max_bytes) {
  z_stream stream = {};
  if (const int code = inflateInit2(&stream, kZlibOnly); code != Z_OK) return DamagedDeflate(code);
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));  // zlib does not modify it
  stream.avail_in = static_cast<uInt>(compressed.size());
  int code = Z_OK;
  while (code == Z_OK && stream.total_out <= max_bytes) {
    std::array<Bytef, 16384> dropped;
    stream.next_out = dropped.data();
    stream.avail_out = dropped.size();
    code = inflate(&stream, Z_NO_FLUSH);
  }
  if (stream.total_out > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        compressed.size(), " compressed bytes decompress to more than the ", max_bytes, " that are taken"));
  }
  if (code != Z_STREAM_END || stream.avail_in != 0) return DamagedDeflate(code);
  return stream.total_out;
}

absl::StatusOr<std::string> Inflate(absl::string_view compressed, size_t size) {
  std::string decompressed;
  if (const int code = Decompress(compressed, kZlibOnly, size, decompressed); code != Z_STREAM_END)
    return DamagedDeflate(code);
  return decompressed;
}

}  // namespace vitrine
