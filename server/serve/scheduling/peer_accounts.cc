// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/peer_accounts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace vitrine {
namespace {

// Returns the address without port, brackets and zone.
std::string HostOf(std::string_view address) {
  std::string host = absl::StrReplaceAll(absl::string_view(address.data(), address.rfind(':')),
                                         {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  host.resize(std::min(host.size(), host.find('%')));
  return host;
}

std::string NetworkOf(const std::string& host) {
  in6_addr address = {};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return "";
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&address)) return inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof(text));
  std::memset(address.s6_addr + 8, 0, 8);
  return absl::StrCat(inet_ntop(AF_INET6, &address, text, sizeof(text)), "/64");
}

}  // namespace

std::string PlaceOf(std::string_view peer) {
  constexpr std::string_view kFour = "ipv4:", kSix = "ipv6:";
  if (peer.starts_with("unix:")) return "unix";
  if (peer.starts_with(kSix) && peer.rfind(':') > kSix.size()) return NetworkOf(HostOf(peer.substr(kSix.size())));
  in_addr address = {};
  if (!peer.starts_with(kFour) || peer.rfind(':') < kFour.size()) return "";
  const std::string host = HostOf(peer.substr(kFour.size()));
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ? host : "";
}

std::string PeerAccounts::AccountOf(const Caller& caller, std::string_view peer) {
  if (!caller.IsAnonymous()) return caller.name;
  std::string place = PlaceOf(peer);
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  ForgetIdle(now);
  const auto known = by_name_.find(place);
  if (known != by_name_.end()) {
    places_.splice(places_.begin(), places_, known->second);
    places_.front().called = now;
  } else {
    if (places_.size() == kMost) return caller.name;
    places_.push_front({place, free_.empty() ? places_.size() : free_.back(), now});
    by_name_.emplace(std::move(place), places_.begin());
    if (!free_.empty()) free_.pop_back();
  }
  return absl::StrCat(caller.name, "#", places_.front().account);
}

void PeerAccounts::ForgetIdle(absl::Time now) {
  for (int looks = 0; looks < 2 && !places_.empty() && now - places_.back().called >= kIdle; ++looks) {
    free_.push_back(places_.back().account);
    by_name_.erase(places_.back().place);
    places_.pop_back();
  }
}

size_t PeerAccounts::places() const {
  MutexLock lock(mutex_);
  return places_.size();
}

}  // namespace vitrine
