// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FLOODS_LOOP_H_
#define VITRINE_TESTS_FLOODS_LOOP_H_

#include <stddef.h>
#include <sys/socket.h>

enum { kOutBytes = 256 << 10 };

// Address of the server, and source address of the connections. If `from_size` is 0, the kernel chooses the source
// address.
typedef struct Addresses {
  struct sockaddr_storage to, from;
  socklen_t to_size, from_size;
} Addresses;

extern Addresses addresses;

#endif  // VITRINE_TESTS_FLOODS_LOOP_H_
