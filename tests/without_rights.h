// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_WITHOUT_RIGHTS_H_
#define VITRINE_TESTS_WITHOUT_RIGHTS_H_

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vitrine {

// Drops root's capabilities from this thread and from threads that it starts, so that file modes apply. The destructor
// restores them.
class WithoutRights {
 public:
  WithoutRights() {
    syscall(SYS_capget, &header_, before_);
    __user_cap_data_struct none[2] = {before_[0], before_[1]};
    none[0].effective = none[1].effective = 0;
    syscall(SYS_capset, &header_, none);
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;
  ~WithoutRights() { syscall(SYS_capset, &header_, before_); }

 private:
  __user_cap_header_struct header_ = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct before_[2] = {};
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_WITHOUT_RIGHTS_H_
