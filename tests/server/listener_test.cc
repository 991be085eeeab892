#include "server/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string PortOf(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

// A connection over IPv4 or IPv6 to this machine; negative if it is refused.
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

TEST(Listener, HandsOverConnectionsUntilItIsStopped) {
  auto listener = Listener::Open("127.0.0.1:0", absl::Seconds(20));
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string port = PortOf((*listener)->address());
  EXPECT_THAT((*listener)->address(), StartsWith("127.0.0.1:"));
  EXPECT_NE(port, "0");
  const int early = Connect(AF_INET, port);
  EXPECT_GE(early, 0) << "connections queue up before Start";
  std::promise<int> taken;
  (*listener)->Start([&](int connection) { taken.set_value(connection); });
  const int connection = taken.get_future().get();
  EXPECT_EQ(send(connection, "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(recv(early, &byte, 1, 0), 1);
  (*listener)->Stop();
  (*listener)->Stop();
  EXPECT_LT(Connect(AF_INET, port), 0) << "the port is closed";
  close(connection);
  close(early);
}

TEST(Listener, ATakenPortIsRefused) {
  const auto first = Listener::Open("127.0.0.1:0", absl::Seconds(20));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Listener::Open((*first)->address(), absl::Seconds(20));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr((*first)->address()));
  EXPECT_FALSE(Listener::Open("no-such-host.invalid:0", absl::Seconds(20)).ok());
}

TEST(Listener, TheWildcardTakesBothFamilies) {
  const auto listener = Listener::Open("0.0.0.0:0", absl::Seconds(20));
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT((*listener)->address(), StartsWith("0.0.0.0:"));
  const int v4 = Connect(AF_INET, PortOf((*listener)->address()));
  EXPECT_GE(v4, 0);
  close(v4);
  const auto v6_only = Listener::Open("[::1]:0", absl::Seconds(20));
  if (!v6_only.ok()) GTEST_SKIP() << "this machine has no IPv6";
  const int v6 = Connect(AF_INET6, PortOf((*listener)->address()));
  EXPECT_GE(v6, 0);
  close(v6);
}

}  // namespace
}  // namespace vitrine
