// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_FUZZ_CLIENT_H_
#define VITRINE_TESTS_FUZZ_FUZZ_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/http/head.h"

namespace vitrine {

// Reads the fuzzer's input from front to back.
class FuzzInput {
 public:
  explicit FuzzInput(absl::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  // Returns the next byte; 0 at the end.
  uint8_t Byte() { return bytes_.empty() ? 0 : static_cast<uint8_t>(Take(1)[0]); }
  // Returns the next `size` bytes, or fewer at the end.
  std::string Take(size_t size) {
    std::string taken(bytes_.substr(0, size));
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  absl::string_view bytes_;
};

// Requests that a client sends.
struct FuzzRequests {
  void Add(absl::string_view method, absl::string_view path, const HttpHeaders& more = {});

  std::vector<HttpHeaders> heads;  // headers of a valid request each, in the form of HTTP/2
  std::vector<std::string> names;  // names of further headers, whose values are in the input
};

// A simulated client. Over HTTP/2, it sends frames whose contents come from the input, and raw bytes of the input. Over
// HTTP/1, it sends requests.
class FuzzClient {
 public:
  // Number of kinds of steps.
  static constexpr int kKinds = 10;

  FuzzClient(FuzzInput& input, const FuzzRequests& requests, bool is_http1)
      : input_(input), requests_(requests), is_http1_(is_http1) {}

  // Returns the bytes before the first request.
  std::string Preface() const;
  // Returns the bytes of a step, whose kind is `step` modulo 16. The other bits are options of the kind.
  std::string Step(uint8_t step);

 private:
  uint32_t Stream();
  std::string Head(uint8_t step, uint32_t stream, HttpHeaders head);
  std::string Data(uint8_t step, bool is_message);

  FuzzInput& input_;
  const FuzzRequests& requests_;
  const bool is_http1_;
  uint32_t last_stream_ = 0;
  size_t repeated_ = 0;  // bytes that repeat bytes of the input
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_FUZZ_CLIENT_H_
