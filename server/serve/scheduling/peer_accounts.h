// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/identity/caller.h"
#include "server/process/clock.h"

namespace vitrine {

// The place that a call comes from, as far as callers without a credential are told apart by it: the IPv4 address, the
// /64 network of an IPv6 address (what one subscriber has to choose from), "unix" for every socket in the file system.
// `peer` is as gRPC writes it ("ipv4:10.0.0.1:5000", "ipv6:%5B2001:db8::1%5D:5000"); "" for what is none of these.
std::string PlaceOf(std::string_view peer);

// Under which names shares and quotas of callers are kept. Who has a credential has an account of that name. Who has
// none has one of the place it calls from: a place gets one of kMost accounts with its first call and gives it back
// when nothing came from it for kIdle. While all are in use, further places share one account more. So there are never
// more than kMost + 1 names, whatever addresses call, and whatever is kept by name is bounded by that; a place that
// inherits an account finds what is left of its use, a minute later. Thread-safe; never blocks beyond a short lock.
class PeerAccounts {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr absl::Duration kIdle = absl::Minutes(1);

  explicit PeerAccounts(const Clock& clock) : clock_(clock) {}
  PeerAccounts(const PeerAccounts&) = delete;
  PeerAccounts& operator=(const PeerAccounts&) = delete;

  std::string AccountOf(const Caller& caller, std::string_view peer);

  size_t places() const;  // that have an account

 private:
  struct Place {
    std::string place;
    size_t account = 0;
    absl::Time called;  // last
  };
  using Places = std::list<Place>;

  // Looks at two of them, so that no call pays for all; each call adds one at most.
  void ForgetIdle(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  Places places_ ABSL_GUARDED_BY(mutex_);  // the last to call first
  // Abseil's maps do not survive std::bad_alloc.
  std::unordered_map<std::string, Places::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_ ABSL_GUARDED_BY(mutex_);  // accounts that were given back
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_
