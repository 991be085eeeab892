// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FILE_SIZE_LIMIT_H_
#define VITRINE_TESTS_FILE_SIZE_LIMIT_H_

#include <signal.h>
#include <sys/resource.h>

namespace vitrine {

// During the object's lifetime, no file that this process writes can grow beyond `bytes`. A write beyond this size
// fails with EFBIG ("File too large"). Tests use this in place of a full disk (ENOSPC).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limits_);
    const rlimit small = {bytes, limits_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &limits_);
    signal(SIGXFSZ, before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit limits_ = {};
  sighandler_t before_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_FILE_SIZE_LIMIT_H_
