// SPDX-License-Identifier: Apache-2.0
#include "server/process/standard_files.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vitrine {

// System calls without wrappers: before the libraries are initialised a sanitizer's wrapper cannot be called.
void KeepStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (syscall(SYS_fcntl, file, F_GETFD) != -1) continue;
    // It gets the lowest number that is free, which is this one.
    (void)!syscall(SYS_openat, AT_FDCWD, "/dev/null", file == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

namespace {

__attribute__((section(".preinit_array"), used)) void (*const g_keep_standard_files)() = &KeepStandardFiles;

}  // namespace
}  // namespace vitrine
