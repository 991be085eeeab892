// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_HTTP2_OUTPUT_H_
#define VITRINE_TESTS_FUZZ_HTTP2_OUTPUT_H_

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "tests/fuzz/require.h"

namespace vitrine {

// Requires that the bytes that a server sends are HTTP/2 frames, and that each stream has one response.
class Http2Output {
 public:
  Http2Output() { Require(nghttp2_hd_inflate_new(&inflater_) == 0); }
  ~Http2Output() { nghttp2_hd_inflate_del(inflater_); }
  Http2Output(const Http2Output&) = delete;
  Http2Output& operator=(const Http2Output&) = delete;

  void Take(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    size_t at = 0;
    while (bytes_.size() - at >= kHead) {
      const size_t length = Number(at, 3);
      Require(length <= 16384);
      if (bytes_.size() - at < kHead + length) break;
      OnFrame(static_cast<int>(Number(at + 3, 1)), static_cast<int>(Number(at + 4, 1)), Number(at + 5, 4),
              absl::string_view(bytes_).substr(at + kHead, length));
      at += kHead + length;
    }
    bytes_.erase(0, at);
  }

 private:
  static constexpr size_t kHead = 9;  // size of the header of a frame

  struct Stream {
    bool has_head = false, has_ended = false, was_reset = false;
    int64_t data = 0, announced = -1;
  };

  uint32_t Number(size_t at, int bytes) const {
    uint32_t number = 0;
    for (int i = 0; i < bytes; ++i) number = number << 8 | static_cast<uint8_t>(bytes_[at + static_cast<size_t>(i)]);
    return number;
  }

  void OnFrame(int type, int flags, uint32_t id, absl::string_view payload) {
    Require(has_begun_ || (type == NGHTTP2_SETTINGS && flags == 0));
    has_begun_ = true;
    Require((type == NGHTTP2_CONTINUATION) == (head_of_ != 0) && (head_of_ == 0 || head_of_ == id));
    const bool ends = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (type) {
      case NGHTTP2_DATA: {
        Stream& stream = streams_[id];
        Require(id % 2 == 1 && stream.has_head && !stream.has_ended && !stream.was_reset);
        stream.data += static_cast<int64_t>(payload.size());
        if (ends) End(stream);
        return;
      }
      case NGHTTP2_HEADERS: {
        Stream& stream = streams_[id];
        Require(id % 2 == 1 && !stream.has_ended && !stream.was_reset && (!stream.has_head || ends));
        head_ends_ = ends;
        head_of_ = id;
        [[fallthrough]];
      }
      case NGHTTP2_CONTINUATION:
        head_.append(payload.data(), payload.size());
        if ((flags & NGHTTP2_FLAG_END_HEADERS) != 0) OnHead(streams_[id]);
        return;
      case NGHTTP2_RST_STREAM:
        streams_[id].was_reset = true;
        return Require(id != 0 && payload.size() == 4);
      case NGHTTP2_SETTINGS:
        return Require(id == 0 && payload.size() % 6 == 0);
      case NGHTTP2_PING:
        return Require(id == 0 && payload.size() == 8);
      case NGHTTP2_GOAWAY:
        return Require(id == 0 && payload.size() >= 8);
      default:
        Require(type == NGHTTP2_WINDOW_UPDATE && payload.size() == 4);
    }
  }

  void OnHead(Stream& stream) {
    bool has_status = false;
    for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv header;
      const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_, &header, &flags,
                                                   reinterpret_cast<const uint8_t*>(head_.data()), head_.size(), 1);
      Require(taken >= 0);
      head_.erase(0, static_cast<size_t>(taken));
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
      const std::string name(reinterpret_cast<const char*>(header.name), header.namelen);
      Require(nghttp2_check_header_name(header.name, header.namelen) != 0);
      Require(nghttp2_check_header_value(header.value, header.valuelen) != 0);
      if (name == ":status") Require(!std::exchange(has_status, true) && header.valuelen == 3);
      if (name == "content-length") stream.announced = std::atoll(reinterpret_cast<const char*>(header.value));
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    Require(has_status != stream.has_head);
    stream.has_head = true;
    head_of_ = 0;
    if (head_ends_) End(stream);
  }

  // The response to HEAD has a length and no body.
  static void End(Stream& stream) {
    stream.has_ended = true;
    Require(stream.announced < 0 || stream.data == 0 || stream.data == stream.announced);
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string bytes_;  // bytes of an incomplete frame
  bool has_begun_ = false;
  std::string head_;  // incomplete headers of the stream head_of_
  uint32_t head_of_ = 0;
  bool head_ends_ = false;
  std::map<uint32_t, Stream> streams_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_HTTP2_OUTPUT_H_
