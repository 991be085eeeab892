// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/gzip.h"

namespace vitrine {
namespace {

// Bits of a step that are options.
enum Option : uint8_t { kEnds = 16, kSecond = 32, kRepeated = 64, kGzip = 128 };

constexpr size_t kMostData = size_t{16} << 10;       // bytes of a DATA frame
constexpr size_t kMostRepeated = size_t{640} << 10;  // enough for the server to measure the bandwidth

// Returns the lowest `bytes` bytes of a number in big-endian order.
std::string BigEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

std::string Frame(int type, int flags, uint32_t stream, absl::string_view payload) {
  return absl::StrCat(BigEndian(payload.size(), 3), BigEndian(static_cast<uint64_t>(type), 1),
                      BigEndian(static_cast<uint64_t>(flags), 1), BigEndian(stream, 4), payload);
}

// Returns a header in HPACK: literals of at most 126 bytes, which are not indexed.
std::string Literals(absl::string_view name, absl::string_view value) {
  std::string literals(1, '\0');
  for (const absl::string_view each : {name.substr(0, 126), value.substr(0, 126)}) {
    absl::StrAppend(&literals, BigEndian(each.size(), 1), each);
  }
  return literals;
}

std::string Http1Head(const HttpHeaders& head) {
  std::string method = "GET", path = "/", rest;
  for (const auto& [name, value] : head) {
    if (name == ":method") method = value;
    if (name == ":path") path = value;
    if (name == ":authority") absl::StrAppend(&rest, "Host: ", value, "\r\n");
    if (name[0] != ':') absl::StrAppend(&rest, name, ": ", value, "\r\n");
  }
  return absl::StrCat(method, " ", path, " HTTP/1.1\r\n", rest, "\r\n");
}

}  // namespace

void FuzzRequests::Add(absl::string_view method, absl::string_view path, const HttpHeaders& more) {
  HttpHeaders head = {{":method", std::string(method)}, {":scheme", "http"}, {":path", std::string(path)}};
  head.emplace_back(":authority", "x");
  head.insert(head.end(), more.begin(), more.end());
  heads.push_back(std::move(head));
}

std::string FuzzClient::Preface() const {
  return is_http1_ ? "" : absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(NGHTTP2_SETTINGS, 0, 0, ""));
}

std::string FuzzClient::Step(uint8_t step) {
  switch (step % 16) {
    case 0:
    case 1:
      last_stream_ += last_stream_ == 0 ? 1 : 2;
      return Head(step, last_stream_, requests_.heads[input_.Byte() % requests_.heads.size()]);
    case 2:  // trailers
      return Head(step | kEnds, Stream(), {});
    case 3:
    case 4:
      return Data(step, false);
    case 5:
      return Data(step, true);
    case 6: {  // any frame
      const uint8_t type = input_.Byte() % 12, flags = input_.Byte();
      const uint32_t stream = Stream();
      return Frame(type, flags, stream, input_.Take(input_.Byte()));
    }
    case 7:
      return input_.Take(input_.Byte());
    case 8:
      return Frame(NGHTTP2_WINDOW_UPDATE, 0, Stream(), BigEndian(uint64_t{1} << step / 8, 4));
    default:  // the window of new streams
      return Frame(NGHTTP2_SETTINGS, 0, 0,
                   BigEndian(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) + BigEndian(256U * input_.Byte(), 4));
  }
}

// Returns a stream identifier: one below 64, or the identifier of one of the last four requests.
uint32_t FuzzClient::Stream() {
  const uint8_t chosen = input_.Byte();
  return chosen < 64 ? chosen : last_stream_ - std::min(last_stream_, 2 * ((chosen - 64U) / 48));
}

// Returns headers. In HTTP/2, if `step` has kSecond, a second frame completes the headers, and its HPACK bytes come
// from the input.
std::string FuzzClient::Head(uint8_t step, uint32_t stream, HttpHeaders head) {
  for (int more = step / kRepeated; more > 0; --more) {
    const std::string& name = requests_.names[input_.Byte() % requests_.names.size()];
    head.emplace_back(name, input_.Take(input_.Byte() % 127));
  }
  if (is_http1_) return Http1Head(head);
  std::string block;
  for (const auto& [name, value] : head) block += Literals(name, value);
  const int ends = (step & kEnds) != 0 ? NGHTTP2_FLAG_END_STREAM : 0;
  if ((step & kSecond) == 0) return Frame(NGHTTP2_HEADERS, ends | NGHTTP2_FLAG_END_HEADERS, stream, block);
  return Frame(NGHTTP2_HEADERS, ends, stream, block) +
         Frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, stream, input_.Take(input_.Byte()));
}

// Returns a part of a body. If `is_message` is true, the part is a message of gRPC, and its compressed flag is set if
// `step` has kSecond. In HTTP/1, a part whose `step` has kSecond is a chunk.
std::string FuzzClient::Data(uint8_t step, bool is_message) {
  const uint32_t stream = Stream();
  std::string bytes = input_.Take(input_.Byte());
  if ((step & kRepeated) != 0 && !bytes.empty() && repeated_ < kMostRepeated) {
    const std::string once = bytes;
    while (bytes.size() + once.size() < kMostData) bytes += once;
    repeated_ += bytes.size();
  }
  const bool is_second = (step & kSecond) != 0;
  if ((step & kGzip) != 0) bytes = Gzip(bytes);
  if (is_message) bytes = absl::StrCat(BigEndian(is_second ? 1 : 0, 1), BigEndian(bytes.size(), 4), bytes);
  if (!is_http1_) return Frame(NGHTTP2_DATA, (step & kEnds) != 0 ? NGHTTP2_FLAG_END_STREAM : 0, stream, bytes);
  return is_second ? absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n") : bytes;
}

}  // namespace vitrine
