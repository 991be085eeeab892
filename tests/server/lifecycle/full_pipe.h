// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_LIFECYCLE_FULL_PIPE_H_
#define VITRINE_TESTS_SERVER_LIFECYCLE_FULL_PIPE_H_

#include <poll.h>
#include <unistd.h>

namespace vitrine {

// Waits until the pipe is full, so that the next write blocks. Requires that other threads write to the pipe, and that
// no thread reads from it.
inline void AwaitFullPipe(int writing_end) {
  pollfd pipe = {.fd = writing_end, .events = POLLOUT, .revents = 0};
  while (poll(&pipe, 1, 0) != 0) usleep(1000);
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_LIFECYCLE_FULL_PIPE_H_
