// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/tcp_listen.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"

namespace vitrine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string PortOf(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

// Connects to this machine over IPv4 or IPv6. Returns the socket, or a negative value if the connection is refused.
int Connect(int family, const std::string& port) {
  int number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(port, &number));
  sockaddr_in v4 = {
      .sin_family = AF_INET, .sin_port = htons(number), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(number);
  v6.sin6_addr = in6addr_loopback;
  const int made = socket(family, SOCK_STREAM, 0);
  const int result = family == AF_INET ? connect(made, reinterpret_cast<sockaddr*>(&v4), sizeof(v4))
                                       : connect(made, reinterpret_cast<sockaddr*>(&v6), sizeof(v6));
  if (result == 0) return made;
  close(made);
  return -1;
}

// Listening sockets; the destructor closes them.
class Listening {
 public:
  explicit Listening(const std::string& address) : listening_(ListenOnTcp(address, "tests", absl::Seconds(20))) {}
  ~Listening() {
    if (!listening_.ok()) return;
    for (const int each : listening_->sockets) close(each);
  }

  const absl::StatusOr<TcpListening>& operator*() const { return listening_; }
  const std::string& address() const { return listening_->address; }
  std::string message() const { return std::string(listening_.status().message()); }

 private:
  const absl::StatusOr<TcpListening> listening_;
};

TEST(ListenOnTcp, ATakenPortIsRefused) {
  const Listening first("127.0.0.1:0");
  ASSERT_TRUE((*first).ok()) << first.message();
  EXPECT_THAT(first.address(), StartsWith("127.0.0.1:"));
  EXPECT_NE(PortOf(first.address()), "0");
  const Listening second(first.address());
  EXPECT_EQ((*second).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), HasSubstr(first.address()));
  EXPECT_THAT(second.message(), HasSubstr("in use"));
}

TEST(ListenOnTcp, AnUnknownHostIsNotReportedAsATakenPort) {
  const Listening listening("no-such-host.invalid:0");
  EXPECT_EQ((*listening).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listening.message(), Not(HasSubstr("in use")));
  EXPECT_THAT(listening.message(), ContainsRegex("no-such-host.invalid:0 for tests: .+"));
}

TEST(ListenOnTcp, TheWildcardOfIPv6AcceptsIPv4Too) {
  const Listening v4_only("0.0.0.0:0");
  ASSERT_TRUE((*v4_only).ok()) << v4_only.message();
  EXPECT_THAT(v4_only.address(), StartsWith("0.0.0.0:"));
  const int v4 = Connect(AF_INET, PortOf(v4_only.address()));
  EXPECT_GE(v4, 0);
  close(v4);
  EXPECT_LT(Connect(AF_INET6, PortOf(v4_only.address())), 0);
  const Listening v6_only("[::1]:0");
  if (!(*v6_only).ok()) GTEST_SKIP() << "this machine has no IPv6: " << v6_only.message();
  EXPECT_THAT(v6_only.address(), StartsWith("[::1]:"));
  const Listening both("[::]:0");
  ASSERT_TRUE((*both).ok()) << both.message();
  for (const int family : {AF_INET, AF_INET6}) {
    const int made = Connect(family, PortOf(both.address()));
    EXPECT_GE(made, 0);
    close(made);
  }
}

TEST(ListenOnTcp, AcceptedConnectionsEndIfTheirDataStayUnacknowledged) {
  const Listening listening("127.0.0.1:0");
  ASSERT_TRUE((*listening).ok()) << listening.message();
  const int made = Connect(AF_INET, PortOf(listening.address()));
  pollfd waiting = {.fd = (*listening)->sockets.front(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  const int accepted = accept(waiting.fd, nullptr, nullptr);
  ASSERT_GE(accepted, 0);
  unsigned timeout = 0;
  socklen_t size = sizeof(timeout);
  EXPECT_EQ(getsockopt(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size), 0);
  EXPECT_EQ(timeout, 20'000u);  // milliseconds
  close(accepted);
  close(made);
}

// Tests a host name with two addresses, of which this machine has only one. This occurs on a machine without IPv6 whose
// hosts file has ::1.
class ListenOnAllTest : public ::testing::Test {
 protected:
  ListenOnAllTest() {
    for (int i = 0; i < 2; ++i) {
      hosts_[i].sin_family = AF_INET;
      addresses_[i].ai_family = AF_INET;
      addresses_[i].ai_socktype = SOCK_STREAM;
      addresses_[i].ai_addrlen = sizeof(sockaddr_in);
      addresses_[i].ai_addr = reinterpret_cast<sockaddr*>(&hosts_[i]);
    }
    // An address for documentation (RFC 5737), which this machine does not have.
    hosts_[0].sin_addr.s_addr = inet_addr("203.0.113.1");
    hosts_[1].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    addresses_[0].ai_next = &addresses_[1];
  }

  sockaddr_in hosts_[2] = {};
  addrinfo addresses_[2] = {};
};

TEST_F(ListenOnAllTest, LeavesOutAddressesThatTheMachineDoesNotHave) {
  const auto sockets = ListenOnAll(addresses_, false, absl::Seconds(20));
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_EQ(sockets->size(), 1u);
  for (const int made : *sockets) close(made);
}

TEST_F(ListenOnAllTest, FailsIfNoAddressIsLeftOrAPortIsTaken) {
  addresses_[0].ai_next = nullptr;
  EXPECT_THAT(std::string(ListenOnAll(addresses_, false, absl::Seconds(20)).status().message()), HasSubstr("assign"));
  const auto first = ListenOnAll(&addresses_[1], false, absl::Seconds(20));
  ASSERT_TRUE(first.ok()) << first.status();
  socklen_t size = sizeof(hosts_[1]);
  getsockname(first->front(), addresses_[1].ai_addr, &size);
  addresses_[0].ai_next = &addresses_[1];
  EXPECT_THAT(std::string(ListenOnAll(addresses_, false, absl::Seconds(20)).status().message()), HasSubstr("in use"));
  close(first->front());
}

}  // namespace
}  // namespace vitrine
