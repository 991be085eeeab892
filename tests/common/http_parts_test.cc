// SPDX-License-Identifier: Apache-2.0
// Tests the parts of the transport that work without a socket.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "common/http/address_limits.h"
#include "common/http/body.h"
#include "common/http/byte_budget.h"
#include "common/http/network/network.h"
#include "common/http/network/proxy_header.h"
#include "common/http/protocol/flow_window.h"
#include "common/http/token_bucket.h"

namespace vitrine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

sockaddr_storage AddressOf(const std::string& host, int port = 80) {
  sockaddr_storage address = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr), 1) << host;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
  }
  return address;
}

TEST(TokenBucket, AllowsItsBurstAndThenItsRate) {
  const TokenBucket::Time start = {};
  TokenBucket bucket(10, 2, start);
  EXPECT_TRUE(bucket.Take(10, start));
  EXPECT_FALSE(bucket.Take(1, start));
  EXPECT_FALSE(bucket.Take(0, start + milliseconds(400)));
  EXPECT_TRUE(bucket.Take(0, start + milliseconds(600)));
  EXPECT_DOUBLE_EQ(bucket.Share(start + seconds(60)), 1);
  bucket.Cap(0.1);
  EXPECT_TRUE(bucket.Take(1, start + seconds(60)));
  EXPECT_FALSE(bucket.Take(1, start + seconds(60)));
}

TEST(TokenBucket, ItsDebtIsAtMostOneBurst) {
  const TokenBucket::Time start = {};
  TokenBucket bucket(10, 1, start);
  bucket.Take(1000, start);
  EXPECT_FALSE(bucket.Take(0, start + seconds(9)));
  EXPECT_TRUE(bucket.Take(0, start + seconds(11)));
}

TEST(Network, ContainsTheAddressesOfItsPrefix) {
  const absl::StatusOr<Network> ten = Network::Parse("10.0.0.0/8");
  ASSERT_TRUE(ten.ok());
  EXPECT_TRUE(ten->Contains(AddressOf("10.255.1.2")));
  EXPECT_TRUE(ten->Contains(AddressOf("::ffff:10.1.2.3")));
  EXPECT_FALSE(ten->Contains(AddressOf("11.0.0.1")));
  EXPECT_FALSE(ten->Contains(AddressOf("::1")));
  EXPECT_TRUE(Network::Parse("fd00::/7")->Contains(AddressOf("fc00::1")));
  EXPECT_TRUE(Network::Parse("192.168.1.1")->Contains(AddressOf("192.168.1.1")));
  EXPECT_FALSE(Network::Parse("192.168.1.1")->Contains(AddressOf("192.168.1.2")));
  EXPECT_TRUE(Network::Parse("0.0.0.0/0")->Contains(AddressOf("1.2.3.4")));
  for (const char* wrong : {"", "10", "10.0.0.0/33", "10.0.0.0/x", "::/129", "host/8"}) {
    EXPECT_THAT(Network::Parse(wrong).status().ToString(), HasSubstr(std::string("\"") + wrong + "\""));
  }
}

TEST(Network, AddressesHaveTheFormatOfGrpc) {
  EXPECT_EQ(AddressText(AddressOf("127.0.0.1", 40000)), "ipv4:127.0.0.1:40000");
  EXPECT_EQ(AddressText(AddressOf("::1", 40000)), "ipv6:[::1]:40000");
  EXPECT_EQ(AddressText(AddressOf("::ffff:10.0.0.1", 1)), "ipv4:10.0.0.1:1");
  sockaddr_storage local = {};
  local.ss_family = AF_UNIX;
  EXPECT_EQ(AddressText(local), "unix:");
}

TEST(AddressLimits, CountAnIpv6NetworkAsOneAddress) {
  EXPECT_EQ(AddressKeyOf(AddressOf("2001:db8:1:2:aaaa::1")), AddressKeyOf(AddressOf("2001:db8:1:2:bbbb::2")));
  EXPECT_NE(AddressKeyOf(AddressOf("2001:db8:1:2::1")), AddressKeyOf(AddressOf("2001:db8:1:3::1")));
  EXPECT_EQ(AddressKeyOf(AddressOf("10.0.0.1")), AddressKeyOf(AddressOf("::ffff:10.0.0.1")));
  EXPECT_NE(AddressKeyOf(AddressOf("10.0.0.1")), AddressKeyOf(AddressOf("10.0.0.2")));
}

TEST(AddressLimits, LimitRateAndNumberForEachAddress) {
  const AddressLimits::Time start = {};
  HttpAbuseLimits limits;
  limits.connect_burst = 3;
  limits.connect_rate = 1;
  limits.connections = 2;
  AddressLimits addresses(limits);
  const AddressKey one = AddressKeyOf(AddressOf("10.0.0.1")), other = AddressKeyOf(AddressOf("10.0.0.2"));
  auto first = addresses.Admit(one, start);
  auto second = addresses.Admit(one, start);
  EXPECT_NE(second.account, nullptr);
  EXPECT_EQ(addresses.Admit(one, start).refused, CloseReason::kAddressLimit);
  second.account.reset();
  EXPECT_NE(addresses.Admit(one, start).account, nullptr);
  const auto fourth = addresses.Admit(one, start);
  EXPECT_EQ(fourth.account, nullptr);
  EXPECT_EQ(fourth.refused, CloseReason::kConnectRate);
  EXPECT_NE(addresses.Admit(other, start).account, nullptr);
  EXPECT_NE(addresses.Admit(one, start + seconds(2)).account, nullptr);
}

std::string Proxied(const std::string& rest) {
  return std::string("\r\n\r\n\0\r\nQUIT\n", 12) + rest;
}

TEST(ProxyHeader, HasTheClientsAddress) {
  const std::string v4 = Proxied(std::string("\x21\x11\0\x0c\x0a\x01\x02\x03\x7f\0\0\x01\x12\x34\x1f\x90", 16));
  const absl::StatusOr<ProxyHeader> header = ReadProxyHeader(v4 + "more");
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->bytes, 28u);
  EXPECT_EQ(AddressText(*header->client), "ipv4:10.1.2.3:4660");
  for (size_t size = 0; size < v4.size(); ++size) {
    const absl::StatusOr<ProxyHeader> cut = ReadProxyHeader(v4.substr(0, size));
    EXPECT_EQ(cut.status().code(), absl::StatusCode::kUnavailable) << size;
  }
  std::string v6 = Proxied(std::string("\x21\x21\0\x24", 4)) + std::string(36, '\0');
  v6[16 + 15] = 1;
  v6[16 + 33] = 80;
  EXPECT_EQ(AddressText(*ReadProxyHeader(v6)->client), "ipv6:[::1]:80");
}

TEST(ProxyHeader, IsAbsentLocalOrMalformed) {
  EXPECT_EQ(ReadProxyHeader("GET / HTTP/1.1\r\n")->bytes, 0u);
  EXPECT_EQ(ReadProxyHeader("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")->bytes, 0u);
  const absl::StatusOr<ProxyHeader> local = ReadProxyHeader(Proxied(std::string("\x20\0\0\0", 4)));
  EXPECT_EQ(local->bytes, 16u);
  EXPECT_FALSE(local->client.has_value());
  const std::string malformed[] = {std::string("\x11\x11\0\x0c", 4), std::string("\x22\x11\0\x0c", 4),
                                   std::string("\x21\x11\xff\xff", 4), std::string("\x21\x11\0\0", 4)};
  for (const std::string& rest : malformed) {
    EXPECT_EQ(ReadProxyHeader(Proxied(rest)).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(FlowWindow, GrowsWhileItLimitsTheSender) {
  FlowWindow window;
  EXPECT_FALSE(window.OnData(1000));
  EXPECT_TRUE(window.OnData(FlowWindow::kFirst));
  EXPECT_FALSE(window.OnData(FlowWindow::kFirst));  // only one PING at a time
  EXPECT_EQ(window.OnAnswer(), 4 * FlowWindow::kFirst);
  EXPECT_TRUE(window.OnData(FlowWindow::kFirst));
  EXPECT_EQ(window.OnAnswer(), std::nullopt);  // without data since the PING, the window does not limit the sender
  for (int i = 0; i < 20; ++i) {
    if (!window.OnData(window.window())) continue;
    window.OnData(window.window());
    window.OnAnswer();
  }
  EXPECT_EQ(window.window(), FlowWindow::kLargest);
  EXPECT_EQ(window.OnAnswer(), std::nullopt);
}

// Appends 1000 bytes at a time. Requires that each step counts at least the memory that the buffer may have used.
void Fill(std::string& buffer, size_t size, std::optional<size_t> length, BudgetShare& share) {
  while (buffer.size() < size) {
    const size_t before = buffer.size();
    ASSERT_TRUE(MakeRoom(buffer, 1000, length, share));
    ASSERT_EQ(buffer.size(), before);
    buffer.append(1000, 'x');
    ASSERT_GE(share.bytes(), static_cast<int64_t>(buffer.size()));
  }
}

TEST(MakeRoom, AnAnnouncedBodyIsReservedInFewSteps) {
  for (const size_t length : {size_t{1000}, size_t{100'000}, size_t{300'000}, size_t{5'000'000}}) {
    std::string buffer;
    BudgetShare share(std::make_shared<ByteBudget>(6'000'000));
    Fill(buffer, 1000, length, share);
    EXPECT_EQ(buffer.capacity(), std::min(length, size_t{16} << 10));
    EXPECT_EQ(share.bytes(), static_cast<int64_t>(buffer.capacity()));
    Fill(buffer, std::min(length, size_t{20'000}), length, share);
    EXPECT_EQ(buffer.capacity(), std::min(length, size_t{8 * 17'000}));
    EXPECT_EQ(share.bytes(), static_cast<int64_t>(buffer.capacity()));
    Fill(buffer, std::min(length, size_t{200'000}), length, share);
    EXPECT_EQ(buffer.capacity(), std::min(length, size_t{256} << 10));
    EXPECT_EQ(share.bytes(), static_cast<int64_t>(buffer.capacity()));
    Fill(buffer, std::min(length, size_t{270'000}), length, share);
    EXPECT_EQ(buffer.capacity(), length);
    if (length > 270'000) {
      EXPECT_EQ(share.bytes(), std::min(static_cast<int64_t>(length), int64_t{2} << 20));
    }
    Fill(buffer, length, length, share);
    EXPECT_EQ(buffer.capacity(), length);
    EXPECT_EQ(share.bytes(), static_cast<int64_t>(length));
  }
}

TEST(MakeRoom, ABodyThatArrivesAtOnceIsReservedOnce) {
  std::string buffer;
  BudgetShare share(std::make_shared<ByteBudget>(110'000));
  EXPECT_TRUE(MakeRoom(buffer, 60'000, 110'000, share));
  EXPECT_EQ(buffer.capacity(), 110'000u);
  EXPECT_EQ(share.bytes(), 110'000);
}

TEST(MakeRoom, WithoutALengthTheCapacityIsCounted) {
  std::string buffer;
  BudgetShare share(std::make_shared<ByteBudget>(2'100'000));
  for (size_t size = 1000; size < 1'000'000; size += 1000) {
    Fill(buffer, size, std::nullopt, share);
    ASSERT_EQ(share.bytes(), static_cast<int64_t>(buffer.capacity()));
    ASSERT_LE(buffer.capacity(), 2 * size);
  }
}

TEST(MakeRoom, ASmallBudgetChangesNothing) {
  for (const std::optional<size_t> length : {std::optional<size_t>(30'000), std::optional<size_t>()}) {
    std::string buffer;
    BudgetShare share(std::make_shared<ByteBudget>(20'000));
    Fill(buffer, 2000, length, share);
    const int64_t counted = share.bytes();
    EXPECT_FALSE(MakeRoom(buffer, 19'000, length, share));
    EXPECT_EQ(share.bytes(), counted);
    EXPECT_EQ(buffer, std::string(2000, 'x'));
  }
}

TEST(ByteBudget, IsSharedAndReleased) {
  const auto budget = std::make_shared<ByteBudget>(100);
  BudgetShare one(budget), other(budget);
  EXPECT_TRUE(one.Add(60));
  EXPECT_FALSE(other.Add(41));
  EXPECT_TRUE(other.Add(40));
  one = BudgetShare();
  EXPECT_EQ(budget->used(), 40);
  BudgetShare moved = std::move(other);
  EXPECT_EQ(moved.bytes(), 40);
  moved.Release();
  EXPECT_EQ(budget->used(), 0);
  EXPECT_TRUE(BudgetShare().Add(1 << 30));
}

}  // namespace
}  // namespace vitrine
