// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/synchronization/notification.h"
#include "base/http/connections.h"
#include "base/tcp_listen.h"

namespace vitrine {
namespace {

constexpr char kRequest[] = "GET / HTTP/1.1\r\n\r\n";
constexpr char kAnswer[] = "HTTP/1.1 204 No Content\r\n\r\n";

class Client {
 public:
  explicit Client(const std::string& address) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  void Ask() { EXPECT_EQ(send(socket_.get(), kRequest, sizeof(kRequest) - 1, MSG_NOSIGNAL), sizeof(kRequest) - 1); }
  // What comes next; "" when the server has hung up; "nothing" if it does neither.
  std::string Read() {
    char bytes[256];
    const ssize_t got = recv(socket_.get(), bytes, sizeof(bytes), 0);
    return got < 0 ? "nothing" : std::string(bytes, static_cast<size_t>(got));
  }

 private:
  const FileDescriptor socket_;
};

class Connections : public ::testing::Test {
 protected:
  explicit Connections(size_t most = 3) {
    absl::StatusOr<TcpListening> listening = ListenOnTcp("127.0.0.1:0", "a test", absl::Seconds(20));
    EXPECT_TRUE(listening.ok()) << listening.status();
    address_ = listening->address;
    std::vector<FileDescriptor> sockets;
    for (const int each : listening->sockets) sockets.emplace_back(each);
    const HttpConnections::Limits limits = {
        .head = absl::Seconds(10), .keep_alive = absl::Minutes(1), .most = most, .unsent_bytes = 1 << 20};
    connections_ = HttpConnections::Open(std::move(sockets), limits, [this](HttpConnectionNode arrived) {
                     arrived.front().to_send = kAnswer;
                     arrived.front().keep = true;
                     connections_->Send(std::move(arrived));
                   }).value();
    connections_->Start();
  }

  std::string address_;
  std::unique_ptr<HttpConnections> connections_;
};

TEST_F(Connections, TheOneOfWhichNothingCameForLongestMakesRoom) {
  Client first(address_), second(address_), third(address_);
  for (Client* client : {&first, &second, &third}) {
    client->Ask();
    EXPECT_EQ(client->Read(), kAnswer);
  }
  // They may stay idle for longer than newcomers may be silent, and make room for these all the same.
  Client fourth(address_), fifth(address_);
  EXPECT_EQ(first.Read(), "");
  EXPECT_EQ(second.Read(), "");
  for (Client* client : {&third, &fourth, &fifth}) {
    client->Ask();
    EXPECT_EQ(client->Read(), kAnswer);
  }
}

// Until the thread of that name waits for something.
void AwaitSleepOf(const std::string& name) {
  for (;;) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string called, stat;
      std::getline(std::ifstream(task.path() / "comm"), called);
      std::getline(std::ifstream(task.path() / "stat"), stat);
      if (called == name && stat.find(") S ") != std::string::npos) return;
    }
    sched_yield();
  }
}

// An answer that comes back and the end may wake the thread of the connections once for both. They do where it runs
// only when this one waits for it: on the same core, and with the least of priorities, which it inherits.
TEST(ConnectionsThatEnd, WithAnAnswerJustGivenBack) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  for (int cycle = 0; cycle < 50; ++cycle) {
    TcpListening listening = ListenOnTcp("127.0.0.1:0", "a test", absl::Seconds(20)).value();
    std::vector<FileDescriptor> sockets;
    for (const int each : listening.sockets) sockets.emplace_back(each);
    const HttpConnections::Limits limits = {
        .head = absl::Seconds(10), .keep_alive = absl::Minutes(1), .most = 3, .unsent_bytes = 1 << 20};
    HttpConnectionNode waiting;
    absl::Notification came;
    auto connections = HttpConnections::Open(std::move(sockets), limits, [&](HttpConnectionNode arrived) {
                         waiting = std::move(arrived);
                         came.Notify();
                       }).value();
    const sched_param none = {};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    connections->Start();
    ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    {
      Client client(listening.address);
      client.Ask();
      came.WaitForNotification();
    }  // gone, so that nothing is left to wait for
    AwaitSleepOf("http");
    waiting.front().to_send = kAnswer;
    waiting.front().keep = true;
    connections->Send(std::move(waiting));
    connections.reset();
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace vitrine
