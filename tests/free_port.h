// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FREE_PORT_H_
#define VITRINE_TESTS_FREE_PORT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace vitrine {

// Returns a free port of 127.0.0.1 for a later listener. It is below 32768, where the kernel's ephemeral ports begin,
// so the kernel does not give it to connections of tests that run at the same time.
inline int FreePort() {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int port = std::uniform_int_distribution<int>(10'000, 32'000)(random);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_free = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(listener);
    if (is_free) return port;
  }
  ADD_FAILURE() << "no port is free";
  return 0;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_FREE_PORT_H_
