// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/open_connections.h"

#include <sys/socket.h>

#include <optional>

namespace vitrine {
namespace {

// Never the same for two sockets of a machine.
std::optional<uint64_t> CookieOf(int descriptor) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return std::nullopt;
  return cookie;
}

}  // namespace

void OpenConnections::Add(int descriptor) {
  const std::optional<uint64_t> cookie = CookieOf(descriptor);
  if (!cookie.has_value()) return;
  MutexLock lock(mutex_);
  // A closed one with this number is replaced: the map holds no more than the process has descriptors.
  cookies_[descriptor] = *cookie;
}

int64_t OpenConnections::Count() {
  MutexLock lock(mutex_);
  Forget();
  return static_cast<int64_t>(cookies_.size());
}

void OpenConnections::Forget() {
  std::erase_if(cookies_, [](const auto& known) { return CookieOf(known.first) != known.second; });
}

}  // namespace vitrine
