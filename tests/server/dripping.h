// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_DRIPPING_H_
#define VITRINE_TESTS_SERVER_DRIPPING_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace vitrine::testing {

// Sends `head` to the server at 127.0.0.1:port, then a byte every 0.1 s for 5 s, like a client that announced a body
// and never completes it. Returns the response if the server closes the connection within these 5 s, otherwise "".
inline std::string AnswerToADrip(const std::string& address, const std::string& head) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval tenth = {.tv_sec = 0, .tv_usec = 100000};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &tenth, sizeof(tenth));
  std::string answer;
  bool open = connect(connection, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
              send(connection, head.data(), head.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(head.size());
  for (int i = 0; i < 50 && open; ++i) {
    char some[4096];
    const ssize_t got = recv(connection, some, sizeof(some), 0);
    if (got > 0) answer.append(some, got);
    open = (got > 0 || (got < 0 && errno == EAGAIN)) && send(connection, "x", 1, MSG_NOSIGNAL) == 1;
  }
  close(connection);
  return open ? "" : answer;
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_DRIPPING_H_
