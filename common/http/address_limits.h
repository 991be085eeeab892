// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_ADDRESS_LIMITS_H_
#define VITRINE_COMMON_HTTP_ADDRESS_LIMITS_H_

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "common/http/server.h"
#include "common/http/token_bucket.h"
#include "common/mutex.h"

namespace vitrine {

// Key under which AddressLimits counts a client: a byte for the family (4 or 6), then the IPv4 address or the first 64
// bits of the IPv6 address. An IPv4 address that is mapped into IPv6 counts as IPv4.
using AddressKey = std::array<uint8_t, 9>;
AddressKey AddressKeyOf(const sockaddr_storage& address);

// Usage of all connections of one address, limited by HttpAbuseLimits. Thread-safe.
class AddressAccount {
 public:
  using Time = TokenBucket::Time;

  AddressAccount(const HttpAbuseLimits& limits, Time now);

  // Each function counts events of one kind, and returns false if the address exceeds the limit on these events.
  bool Connect(Time now);
  bool Handshake(Time now);
  bool Spend(double points, Time now);

 private:
  Mutex mutex_;
  TokenBucket connects_ ABSL_GUARDED_BY(mutex_);
  TokenBucket handshakes_ ABSL_GUARDED_BY(mutex_);
  TokenBucket points_ ABSL_GUARDED_BY(mutex_);
};

// Accounts of recently seen addresses. If there are more than 65,536, accounts without a connection are dropped.
// Thread-safe.
class AddressLimits {
 public:
  using Time = TokenBucket::Time;

  explicit AddressLimits(const HttpAbuseLimits& limits) : limits_(limits) {}

  // Result of Admit: the account of a new connection, or the reason to close the connection at once. The connection
  // keeps the account while it is open.
  struct Admission {
    std::shared_ptr<AddressAccount> account;  // null: the connection is rejected
    CloseReason refused = CloseReason::kConnectRate;
  };
  Admission Admit(const AddressKey& address, Time now);

 private:
  void ForgetIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HttpAbuseLimits limits_;
  Mutex mutex_;
  std::map<AddressKey, std::shared_ptr<AddressAccount>> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_ADDRESS_LIMITS_H_
