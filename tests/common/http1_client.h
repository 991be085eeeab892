// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_HTTP1_CLIENT_H_
#define VITRINE_TESTS_COMMON_HTTP1_CLIENT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "common/file/descriptor.h"
#include "common/http/server.h"

namespace vitrine {

// A TCP connection with a blocking socket.
class Http1Client {
 public:
  explicit Http1Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  bool Send(const std::string& bytes) {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Returns the next bytes. Returns "" if the server has disconnected, and "nothing" after the timeout.
  std::string Read() {
    char bytes[4096];
    const ssize_t got = recv(socket_.get(), bytes, sizeof(bytes), 0);
    return got < 0 ? "nothing" : std::string(bytes, static_cast<size_t>(got));
  }
  // Returns all bytes until the server disconnects.
  std::string ReadAll() {
    std::string all;
    for (std::string more = Read(); !more.empty() && more != "nothing"; more = Read()) all += more;
    return all;
  }
  // Reads until the received bytes end with `end`.
  std::string ReadUntil(const std::string& end) {
    std::string all;
    while (!all.ends_with(end)) {
      const std::string more = Read();
      if (more.empty() || more == "nothing") break;
      all += more;
    }
    return all;
  }
  // Sends as much as the kernel takes without waiting for the server. Returns the number of bytes.
  size_t SendWithoutWaiting(const std::string& bytes) {
    size_t sent = 0;
    for (ssize_t some = 1; some > 0 && sent<bytes.size(); sent += some> 0 ? static_cast<size_t>(some) : 0) {
      some = send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return sent;
  }
  int descriptor() const { return socket_.get(); }
  void HangUp() { socket_ = FileDescriptor(); }

 private:
  FileDescriptor socket_;
};

// Records why the last connection was closed.
class LastClose final : public HttpObserver {
 public:
  // Waits for the next close, at most 20 seconds. Returns its reason, followed by ": " and the detail if there is one.
  std::string Await() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !closed_.empty(); });
    return std::exchange(closed_, std::string());
  }

 private:
  void OnClosed(CloseReason reason) override {
    if (!IsCutOff(reason)) Note(CloseReasonName(reason));
  }
  void OnCutOff(CloseReason reason, const std::string&, const std::string& detail) override {
    Note(CloseReasonName(reason) + (detail.empty() ? "" : ": " + detail));
  }
  void Note(std::string closed) {
    const std::lock_guard lock(mutex_);
    closed_ = std::move(closed);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string closed_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_HTTP1_CLIENT_H_
