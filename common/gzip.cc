// SPDX-License-Identifier: Apache-2.0
#include "common/gzip.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace vitrine {
namespace {

// Maximum number of bytes passed to the library at once; the library counts in 32 bits.
constexpr size_t kMostAtOnce = size_t{1} << 30;
// Minimum size of the output buffer, enough for an empty member.
constexpr size_t kLeastRoom = 256;

}  // namespace

std::string Gzip(absl::string_view bytes) {
  const auto stream = std::make_unique<isal_zstream>();  // 70 KB
  isal_deflate_init(stream.get());
  const auto buffer = std::make_unique_for_overwrite<uint8_t[]>(ISAL_DEF_LVL1_DEFAULT);
  stream->level = 1;
  stream->level_buf = buffer.get();
  stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream->gzip_flag = IGZIP_GZIP;

  std::string packed(bytes.size() / 4 + kLeastRoom, '\0');
  size_t written = 0;
  do {
    if (stream->avail_in == 0) {
      const size_t part = std::min(bytes.size(), kMostAtOnce);
      stream->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));  // input is not modified
      stream->avail_in = static_cast<uint32_t>(part);
      bytes.remove_prefix(part);
      stream->end_of_stream = bytes.empty() ? 1 : 0;
    }
    if (written == packed.size()) packed.resize(packed.size() * 2);
    const size_t room = std::min(packed.size() - written, kMostAtOnce);
    stream->next_out = reinterpret_cast<uint8_t*>(packed.data()) + written;
    stream->avail_out = static_cast<uint32_t>(room);
    isal_deflate(stream.get());  // fails only on invalid arguments
    written += room - stream->avail_out;
  } while (stream->internal_state.state != ZSTATE_END);
  packed.resize(written);
  return packed;
}

}  // namespace vitrine
