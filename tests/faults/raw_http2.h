// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FAULTS_RAW_HTTP2_H_
#define VITRINE_TESTS_FAULTS_RAW_HTTP2_H_

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace vitrine::testing {

// A connected TCP socket. The test fails if nobody listens at host:port.
int ConnectTcp(const std::string& address);

// A client that speaks HTTP/2 by hand, so that it can stop in the middle of anything. Keeps to flow control. One
// thread.
class RawHttp2 {
 public:
  // Connects and sends preface and settings. The server may send `answer_window` bytes of each answer: 0 is a client
  // that does not read.
  explicit RawHttp2(const std::string& address, uint32_t answer_window = 65535);
  ~RawHttp2();
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  // Begins a call of "/package.Service/Method" and promises a message of `message_bytes`. Nothing of it is sent yet.
  // `headers` go with it beside those that a call must have.
  void Open(const std::string& method, int64_t message_bytes, const std::map<std::string, std::string>& headers = {});
  // Calls with the whole of a message, no longer than a frame.
  void Call(const std::string& method, const std::string& message,
            const std::map<std::string, std::string>& headers = {});
  // Reads until the server has ended every call. False if it has not after `longest`, or has hung up.
  bool AwaitEnd(absl::Duration longest);
  // Sends up to `bytes` of every open call's message (zeros) as far as the server lets it, until nothing has moved for
  // `quiet`. Returns the bytes sent on all calls.
  int64_t Push(int64_t bytes, absl::Duration quiet);
  // Pings the server. The answer is counted in pongs().
  void Ping();
  // From here on pings of the server are read and left without an answer.
  void IgnorePings() { answers_pings_ = false; }
  // Reads for a moment; for one who waits for what is below.
  void Read() { Receive(absl::Milliseconds(10)); }

  int open() const { return static_cast<int>(calls_.size()); }  // calls that the server has not ended
  bool closed() const { return closed_; }                       // the server hung up
  // Calls that the server ended with this number in grpc-status.
  int ended_with(int code) const;
  int pings() const { return pings_; }  // of the server
  int pongs() const { return pongs_; }  // answers of the server
  // A setting of the server by its number; nothing before the server has told it.
  std::optional<uint32_t> setting(int number) const;
  // The error code of the GOAWAY with which the server says that it will close the connection.
  std::optional<uint32_t> goaway() const { return goaway_; }

 private:
  struct Sending {
    int64_t left = 0;  // of what the next Push may send
    int64_t window = 0;
  };
  void SendFrame(int type, int flags, uint32_t stream, const std::string& payload);
  bool SendSome();                        // false if no call may send
  void Receive(absl::Duration patience);  // handles what is there
  void OnFrame(int type, int flags, uint32_t stream, const std::string& payload);
  void OnHeaders(const std::string& block);

  int socket_;
  bool closed_ = false;
  bool answers_pings_ = true;
  int pings_ = 0;
  int pongs_ = 0;
  std::map<int, uint32_t> settings_;
  std::optional<uint32_t> goaway_;
  uint32_t next_stream_ = 1;
  int64_t window_ = 65535;
  int64_t initial_window_ = 65535;
  std::map<uint32_t, Sending> calls_;
  std::string received_;
  // Reads the blocks of headers, which share a table.
  std::unique_ptr<nghttp2_hd_inflater, void (*)(nghttp2_hd_inflater*)> inflater_;
  std::map<std::string, int> statuses_;  // how often grpc-status had each value
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_FAULTS_RAW_HTTP2_H_
