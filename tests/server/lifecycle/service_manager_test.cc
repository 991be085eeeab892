// SPDX-License-Identifier: Apache-2.0
#include "server/process/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file/descriptor.h"
#include "tests/client/environment.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

// Receives datagrams on a Unix socket as systemd does, at a path or at the abstract address "@NAME".
class Listener {
 public:
  explicit Listener(const std::string& name) : socket_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::copy(name.begin(), name.end(), address.sun_path);
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << name;
  }
  std::string Receive() const {
    char text[256];
    const ssize_t size = recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(text, size);
  }

 private:
  FileDescriptor socket_;
};

TEST(ServiceManager, IsNotifiedByPathAndByAbstractName) {
  const ScratchFolder folder;
  for (const std::string& name : {folder.Path("notify"), absl::StrCat("@vitrine-test-", getpid())}) {
    const Listener listener(name);
    const Environment variable("NOTIFY_SOCKET", name.c_str());
    ServiceManager().Notify("READY=1\nSTATUS=ready");
    EXPECT_EQ(listener.Receive(), "READY=1\nSTATUS=ready") << name;
  }
}

TEST(ServiceManager, WithoutAServiceManagerNotifyDoesNothing) {
  const Environment variable("NOTIFY_SOCKET", nullptr);
  EXPECT_EQ(ServiceManager().interval(), absl::InfiniteDuration());
  ServiceManager().Notify("READY=1");
  const std::string long_name(200, 'x');
  for (const char* name : {"/nowhere/notify", long_name.c_str()}) {
    const Environment nobody("NOTIFY_SOCKET", name);
    ServiceManager().Notify("READY=1");
  }
}

TEST(ServiceManager, IsNotifiedThreeTimesPerWatchdogPeriod) {
  const auto interval = [](const char* microseconds) {
    const Environment variables({{"NOTIFY_SOCKET", "@x"}, {"WATCHDOG_USEC", microseconds}});
    return ServiceManager().interval();
  };
  EXPECT_EQ(interval("3000000"), absl::Seconds(1));
  EXPECT_EQ(interval("600000000"), absl::Seconds(10));
  for (const char* none : {static_cast<const char*>(nullptr), "0", "soon"})
    EXPECT_EQ(interval(none), absl::Seconds(10));
}

}  // namespace
}  // namespace vitrine
