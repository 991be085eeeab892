// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FAULTS_RAW_HTTP2_H_
#define VITRINE_TESTS_FAULTS_RAW_HTTP2_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace vitrine::testing {

// Returns a connected TCP socket. Fails the test if the connection to host:port is refused.
int ConnectTcp(const std::string& address);

// An HTTP/2 client that can stop after any byte. It respects flow control. Not thread-safe.
class RawHttp2 {
 public:
  // Connects, and sends preface and SETTINGS. `answer_window` is the number of bytes that the server may send of each
  // response; 0 simulates a client that does not read.
  explicit RawHttp2(const std::string& address, uint32_t answer_window = 65535);
  ~RawHttp2();
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  // Begins a call of "/package.Service/Method". Announces a message of `message_bytes` without sending it. With another
  // content type, begins an HTTP request whose body starts with gRPC's prefix.
  void Open(const std::string& method, int64_t message_bytes, const std::string& content_type = "application/grpc");
  // Sends a call with its whole message, which must fit in one frame.
  void Call(const std::string& method, const std::string& message);
  // Sends up to `bytes` zeros of every open call's message, as far as flow control allows. Stops when nothing has been
  // sent or received for the time `quiet`. Returns the total number of bytes sent.
  int64_t Push(int64_t bytes, absl::Duration quiet);

  int open() const { return static_cast<int>(calls_.size()); }  // calls that the server has not ended
  bool closed() const { return closed_; }                       // the server closed the connection

 private:
  struct Sending {
    int64_t left = 0;  // bytes that the next Push may send
    int64_t window = 0;
  };
  void SendFrame(int type, int flags, uint32_t stream, const std::string& payload);
  bool SendSome();                        // false if no call may send
  void Receive(absl::Duration patience);  // handles the received bytes
  void OnFrame(int type, int flags, uint32_t stream, const std::string& payload);

  int socket_;
  bool closed_ = false;
  uint32_t next_stream_ = 1;
  int64_t window_ = 65535;
  int64_t initial_window_ = 65535;
  std::map<uint32_t, Sending> calls_;
  std::string received_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_FAULTS_RAW_HTTP2_H_
