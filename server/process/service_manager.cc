// SPDX-License-Identifier: Apache-2.0
#include "server/process/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "common/file/descriptor.h"

namespace vitrine {
namespace {

constexpr absl::Duration kMaxInterval = absl::Seconds(10);

}  // namespace

ServiceManager::ServiceManager() {
  if (const char* socket = std::getenv("NOTIFY_SOCKET"); socket != nullptr) socket_ = socket;
  if (socket_.empty()) return;
  interval_ = kMaxInterval;
  int64_t microseconds = 0;
  const char* watchdog = std::getenv("WATCHDOG_USEC");
  if (watchdog != nullptr && absl::SimpleAtoi(watchdog, &microseconds) && microseconds > 0) {
    interval_ = std::min(interval_, absl::Microseconds(microseconds) / 3);
  }
}

void ServiceManager::Notify(const std::string& lines) const {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_.empty() || socket_.size() > sizeof(address.sun_path)) return;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';  // the name of an abstract socket begins with a zero byte
  const FileDescriptor descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)sendto(descriptor.get(), lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace vitrine
