// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>
#include <string>

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

}  // namespace
}  // namespace vitrine
