// SPDX-License-Identifier: Apache-2.0
#include "common/http/address_limits.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace vitrine {
namespace {

constexpr size_t kMostAccounts = 65'536;
constexpr uint8_t kIpv4 = 4, kIpv6 = 6;

}  // namespace

AddressKey AddressKeyOf(const sockaddr_storage& address) {
  AddressKey key = {};
  if (address.ss_family == AF_INET) {
    key[0] = kIpv4;
    std::memcpy(&key[1], &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.ss_family == AF_INET6) {
    const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&host);
    key[0] = mapped ? kIpv4 : kIpv6;
    std::memcpy(&key[1], &host.s6_addr[mapped ? 12 : 0], mapped ? 4 : 8);
  }
  return key;
}

AddressAccount::AddressAccount(const HttpAbuseLimits& limits, Time now)
    : connects_(limits.connect_burst, limits.connect_rate, now),
      handshakes_(limits.handshake_burst, limits.handshake_rate, now),
      points_(limits.address_burst, limits.address_rate, now) {}

bool AddressAccount::Connect(Time now) {
  MutexLock lock(mutex_);
  return connects_.Take(1, now);
}

bool AddressAccount::Handshake(Time now) {
  MutexLock lock(mutex_);
  return handshakes_.Take(1, now);
}

bool AddressAccount::Spend(double points, Time now) {
  MutexLock lock(mutex_);
  return points_.Take(points, now);
}

AddressLimits::Admission AddressLimits::Admit(const AddressKey& address, Time now) {
  MutexLock lock(mutex_);
  std::shared_ptr<AddressAccount>& account = accounts_[address];
  if (account == nullptr) account = std::make_shared<AddressAccount>(limits_, now);
  // The table has one reference to the account, and each open connection has one.
  if (limits_.connections > 0 && account.use_count() - 1 >= limits_.connections) {
    return {.account = nullptr, .refused = CloseReason::kAddressLimit};
  }
  if (!account->Connect(now)) return {.account = nullptr, .refused = CloseReason::kConnectRate};
  Admission admitted = {.account = account};
  if (accounts_.size() > kMostAccounts) ForgetIdle();
  return admitted;
}

void AddressLimits::ForgetIdle() {
  std::erase_if(accounts_, [](const auto& each) { return each.second.use_count() == 1; });
}

}  // namespace vitrine
