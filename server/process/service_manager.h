// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_SERVICE_MANAGER_H_
#define VITRINE_SERVER_PROCESS_SERVICE_MANAGER_H_

#include <string>

#include "absl/time/time.h"

namespace vitrine {

// The service manager that started this process, such as systemd, if it waits for notifications: see sd_notify(3).
class ServiceManager {
 public:
  // Reads $NOTIFY_SOCKET and $WATCHDOG_USEC.
  ServiceManager();

  // Returns the interval of notifications to the manager: a third of $WATCHDOG_USEC, at most 10 s. Infinite without a
  // manager.
  absl::Duration interval() const { return interval_; }
  // Sends lines such as "READY=1". Never blocks, so a notification is lost if the service manager reads too slowly.
  void Notify(const std::string& lines) const;

 private:
  std::string socket_;  // empty: there is no service manager
  absl::Duration interval_ = absl::InfiniteDuration();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_SERVICE_MANAGER_H_
