// SPDX-License-Identifier: Apache-2.0
#include "server/process/standard_files.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vitrine {

// Uses raw system calls: a sanitizer's wrappers cannot be called before libraries are initialized.
void KeepStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (syscall(SYS_fcntl, file, F_GETFD) != -1) continue;
    // open returns the lowest free descriptor, which is `file`.
    (void)!syscall(SYS_openat, AT_FDCWD, "/dev/null", file == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

namespace {

__attribute__((section(".preinit_array"), used)) void (*const g_keep_standard_files)() = &KeepStandardFiles;

}  // namespace
}  // namespace vitrine
