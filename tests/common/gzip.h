// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_GZIP_H_
#define VITRINE_TESTS_COMMON_GZIP_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace vitrine::testing {

// Returns `text` as one gzip member, or as a zlib stream if `window_bits` is 15.
inline std::string Gzip(const std::string& text, int window_bits = 15 + 16) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string Deflate(const std::string& text) {
  return Gzip(text, 15);
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_COMMON_GZIP_H_
