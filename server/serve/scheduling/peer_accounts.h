// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/identity/caller.h"
#include "server/process/clock.h"

namespace vitrine {

// Returns the network place of a peer, which distinguishes callers without a credential. The place is the IPv4 address,
// the /64 network of an IPv6 address (one subscriber may choose any address in it), or "unix" for every socket in the
// file system. `peer` is in gRPC's form ("ipv4:10.0.0.1:5000", "ipv6:%5B2001:db8::1%5D:5000"); returns "" for any other
// form.
std::string PlaceOf(std::string_view peer);

// Assigns the account names under which fair shares and quotas are counted. The account of a caller with a credential
// is its name. A caller without a credential gets an account by its network place (PlaceOf). A place gets one of kMost
// accounts at its first call, and gives it back after kIdle without a call. While all accounts are in use, further
// places share one additional account. So there are at most kMost + 1 account names for any number of addresses, which
// limits the data that is stored for each account. A place that gets the former account of another place also gets the
// counts of this account, which are then at least a minute old. Thread-safe; takes only short locks.
class PeerAccounts {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr absl::Duration kIdle = absl::Minutes(1);

  explicit PeerAccounts(const Clock& clock) : clock_(clock) {}
  PeerAccounts(const PeerAccounts&) = delete;
  PeerAccounts& operator=(const PeerAccounts&) = delete;

  std::string AccountOf(const Caller& caller, std::string_view peer);

  size_t places() const;  // returns the number of places that have an account

 private:
  struct Place {
    std::string place;
    size_t account = 0;
    absl::Time called;  // time of the last call
  };
  using Places = std::list<Place>;

  // Frees at most two idle accounts; this is enough because each call adds at most one account.
  void ForgetIdle(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  Places places_ ABSL_GUARDED_BY(mutex_);  // most recent caller first
  absl::flat_hash_map<std::string, Places::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_ ABSL_GUARDED_BY(mutex_);  // accounts that were given back
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_PEER_ACCOUNTS_H_
