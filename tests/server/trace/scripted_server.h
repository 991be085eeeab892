// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_TRACE_SCRIPTED_SERVER_H_
#define VITRINE_TESTS_SERVER_TRACE_SCRIPTED_SERVER_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/file/descriptor.h"
#include "common/mutex.h"

namespace vitrine::testing {

// A server that answers the requests of each connection in order with the test's bytes, then closes the connection.
class ScriptedServer {
 public:
  using Answers = std::vector<std::string>;  // one answer per request
  static constexpr char kNothing[] = "";     // no answer: waits until the client sends more or closes
  static constexpr char kClose[] = "close";  // closes the connection instead of answering
  enum class Pace { kAtOnce, kByteByByte };

  // `connections` has one element per connection.
  explicit ScriptedServer(std::vector<Answers> connections, Pace pace = Pace::kAtOnce)
      : pace_(pace), listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listening_.get(), 16), 0);
    EXPECT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, connections = std::move(connections)] {
      for (const Answers& answers : connections) {
        Serve(answers);
        MutexLock lock(mutex_);
        ++closed_;
        changed_.NotifyAll();
      }
    });
  }
  ~ScriptedServer() {
    shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
  }

  int port() const { return port_; }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  // Returns the requests so far, each with head and body.
  std::vector<std::string> requests() {
    MutexLock lock(mutex_);
    return requests_;
  }
  void AwaitRequests(size_t count) {
    MutexLock lock(mutex_);
    while (requests_.size() < count) changed_.Wait(mutex_);
  }
  // Waits until `count` connections are closed.
  void AwaitClosed(int count) {
    MutexLock lock(mutex_);
    while (closed_ < count) changed_.Wait(mutex_);
  }

 private:
  void Serve(const Answers& answers) {
    const FileDescriptor connection(accept(listening_.get(), nullptr, nullptr));
    if (!connection.valid()) return;
    std::string received;
    for (const std::string& answer : answers) {
      if (!ReadRequest(connection.get(), received) || answer == kClose) return;
      const size_t step = pace_ == Pace::kAtOnce ? answer.size() : 1;
      for (size_t at = 0; at < answer.size(); at += step) {
        (void)send(connection.get(), answer.data() + at, step, MSG_NOSIGNAL);
        if (pace_ == Pace::kByteByByte) std::this_thread::yield();
      }
      if (answer.empty()) (void)ReadMore(connection.get(), received);
    }
  }
  // Reads more bytes. Returns false if the client has closed its side.
  static bool ReadMore(int connection, std::string& received) {
    char bytes[4096];
    const ssize_t count = recv(connection, bytes, sizeof(bytes), 0);
    if (count > 0) received.append(bytes, static_cast<size_t>(count));
    return count > 0;
  }
  bool ReadRequest(int connection, std::string& received) {
    while (!absl::StrContains(received, "\r\n\r\n")) {
      if (!ReadMore(connection, received)) return false;
    }
    size_t length = 0;
    const std::string field = "content-length: ";
    if (const size_t at = received.find(field); at != std::string::npos) {
      (void)absl::SimpleAtoi(received.substr(at + field.size(), received.find('\r', at) - at - field.size()), &length);
    }
    const size_t size = received.find("\r\n\r\n") + 4 + length;
    while (received.size() < size) {
      if (!ReadMore(connection, received)) return false;
    }
    MutexLock lock(mutex_);
    requests_.push_back(received.substr(0, size));
    received.erase(0, size);
    changed_.NotifyAll();
    return true;
  }

  const Pace pace_;
  const FileDescriptor listening_;
  int port_ = 0;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  int closed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last member, because the thread uses all other members
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_TRACE_SCRIPTED_SERVER_H_
