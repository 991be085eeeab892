// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/peer_accounts.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/serve/scheduling/caller_quotas.h"

namespace vitrine {
namespace {

std::string Peer(int number) {
  return absl::StrCat("ipv4:10.", number >> 16, ".", (number >> 8) & 255, ".", number & 255, ":", 1024 + number % 5000);
}

TEST(PlaceOf, IsTheIPv4AddressOrTheIPv6Network) {
  EXPECT_EQ(PlaceOf("ipv4:10.1.2.3:5000"), "10.1.2.3");
  EXPECT_EQ(PlaceOf("ipv4:10.1.2.3:5001"), "10.1.2.3");
  EXPECT_EQ(PlaceOf("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000"), "2001:db8:1:2::/64") << "the form of gRPC";
  EXPECT_EQ(PlaceOf("ipv6:[2001:db8:1:2:ffff::1]:80"), "2001:db8:1:2::/64") << "the form of HTTP";
  EXPECT_EQ(PlaceOf("ipv6:%5B2001:db8:1:3::1%5D:5000"), "2001:db8:1:3::/64");
  EXPECT_EQ(PlaceOf("ipv6:%5Bfe80::1%25eth0%5D:5000"), "fe80::/64");
  EXPECT_EQ(PlaceOf("ipv6:[::ffff:10.1.2.3]:80"), "10.1.2.3") << "an IPv4 address through an IPv6 socket";
  EXPECT_EQ(PlaceOf("unix:"), "unix");
  EXPECT_EQ(PlaceOf("unix:/run/vitrine/data"), "unix");
}

TEST(PlaceOf, AllInvalidAddressesAreOnePlace) {
  for (const char* peer : {"", "ipv4:", "ipv6:", "ipv4:10.1.2.3", "ipv6:%5B%5D:1", "ipv4:host:1", "vsock:1:2"}) {
    EXPECT_EQ(PlaceOf(peer), "") << peer;
  }
}

TEST(PeerAccounts, ACredentialHasOneAccountForAllAddresses) {
  FakeClock clock;
  PeerAccounts accounts(clock);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(accounts.AccountOf({.name = "token:a"}, Peer(i)), "token:a");
  EXPECT_EQ(accounts.places(), 0u);
}

TEST(PeerAccounts, WithoutACredentialAnActivePlaceKeepsItsAccount) {
  FakeClock clock;
  PeerAccounts accounts(clock);
  const std::string first = accounts.AccountOf({}, Peer(1)), second = accounts.AccountOf({}, Peer(2));
  EXPECT_NE(first, second);
  for (int minutes = 0; minutes < 10; ++minutes) {
    clock.Advance(absl::Seconds(59));
    EXPECT_EQ(accounts.AccountOf({}, "ipv4:10.0.0.1:7"), first);
    EXPECT_EQ(accounts.AccountOf({}, "ipv4:10.0.0.2:7"), second);
  }
  EXPECT_EQ(accounts.places(), 2u);
}

TEST(PeerAccounts, EachCallRemovesTwoPlacesThatWereIdleForAMinute) {
  FakeClock clock;
  PeerAccounts accounts(clock);
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i) names.insert(accounts.AccountOf({}, Peer(i)));
  clock.Advance(PeerAccounts::kIdle - absl::Nanoseconds(1));
  accounts.AccountOf({}, Peer(9));
  EXPECT_EQ(accounts.places(), 10u);
  clock.Advance(absl::Nanoseconds(1));
  accounts.AccountOf({}, Peer(9));
  EXPECT_EQ(accounts.places(), 8u);
  std::set<std::string> given;
  for (int i = 20; i < 24; ++i) given.insert(accounts.AccountOf({}, Peer(i)));
  EXPECT_EQ(given.size(), 4u) << "each place has its own account";
  for (const std::string& name : given)
    EXPECT_TRUE(names.contains(name)) << "new places reuse the accounts of removed ones";
}

TEST(PeerAccounts, PlacesBeyondTheLimitShareOneAccount) {
  FakeClock clock;
  PeerAccounts accounts(clock);
  std::set<std::string> names;
  const auto most = static_cast<int>(PeerAccounts::kMost);
  for (int i = 0; i < most; ++i) names.insert(accounts.AccountOf({}, Peer(i)));
  EXPECT_EQ(names.size(), PeerAccounts::kMost);
  EXPECT_EQ(accounts.places(), PeerAccounts::kMost);
  EXPECT_FALSE(names.contains(Caller().name));
  EXPECT_EQ(accounts.AccountOf({}, Peer(most)), Caller().name);
  EXPECT_EQ(accounts.AccountOf({}, Peer(most + 1)), Caller().name);
  EXPECT_EQ(accounts.places(), PeerAccounts::kMost);
  EXPECT_TRUE(names.contains(accounts.AccountOf({}, Peer(0)))) << "a place that has an account keeps it";
}

TEST(PeerAccounts, ManyAddressesTakeBoundedMemoryAndNoActiveAccount) {
  FakeClock clock;
  PeerAccounts accounts(clock);
  CallerQuotas quotas(clock);
  const auto quota = std::make_shared<const CallerQuota>(CallerQuota{.requests_per_second = 1e-6, .burst = 3});
  const auto ask = [&](const std::string& peer) {
    Caller caller = {.quota = quota};
    caller.account = accounts.AccountOf(caller, peer);
    return quotas.Admit(caller);
  };
  const std::string known = accounts.AccountOf({}, Peer(0));
  std::set<std::string> names;
  for (int i = 1; i < 300'000; ++i) {
    names.insert(accounts.AccountOf({}, Peer(i)));
    (void)ask(Peer(i));
    clock.Advance(absl::Milliseconds(1));
    if (i % 1000 == 0) {
      EXPECT_EQ(accounts.AccountOf({}, Peer(0)), known);
    }
  }
  EXPECT_LE(accounts.places(), PeerAccounts::kMost);
  EXPECT_LE(quotas.callers(), PeerAccounts::kMost + 1);
  EXPECT_LE(names.size(), PeerAccounts::kMost + 1);
  EXPECT_FALSE(names.contains(known)) << "the account of the active place was given to another place";
}

}  // namespace
}  // namespace vitrine
