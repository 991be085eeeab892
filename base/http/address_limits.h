// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_ADDRESS_LIMITS_H_
#define VITRINE_BASE_HTTP_ADDRESS_LIMITS_H_

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "base/http/server.h"
#include "base/http/token_bucket.h"
#include "base/mutex.h"

namespace vitrine {

// AddressKey is what an address is counted by: an IPv4 address (also one that is mapped into IPv6), or the first 64
// bits of an IPv6 address.
using AddressKey = std::array<uint8_t, 9>;
AddressKey AddressKeyOf(const sockaddr_storage& address);

// AddressAccount counts what the connections of one address have used of HttpAbuseLimits. Thread-safe.
class AddressAccount {
 public:
  using Time = TokenBucket::Time;

  AddressAccount(const HttpAbuseLimits& limits, Time now);

  // Each false if the address has used up what it may.
  bool Connect(Time now);
  bool Handshake(Time now);
  bool Spend(double points, Time now);

 private:
  Mutex mutex_;
  TokenBucket connects_ ABSL_GUARDED_BY(mutex_);
  TokenBucket handshakes_ ABSL_GUARDED_BY(mutex_);
  TokenBucket points_ ABSL_GUARDED_BY(mutex_);
};

// The accounts of the addresses that were seen of late: of at most 65,536, of which the ones without a connection are
// forgotten first. Thread-safe.
class AddressLimits {
 public:
  using Time = TokenBucket::Time;

  explicit AddressLimits(const HttpAbuseLimits& limits) : limits_(limits) {}

  // The account of a new connection, which it keeps while it is open; in `refused` why it is to be closed at once, if
  // it is.
  struct Admission {
    std::shared_ptr<AddressAccount> account;  // null where it is refused
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

#endif  // VITRINE_BASE_HTTP_ADDRESS_LIMITS_H_
