// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_FUZZ_CONNECTION_H_
#define VITRINE_TESTS_FUZZ_FUZZ_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "common/http/connection.h"
#include "tests/fuzz/fuzz_client.h"

namespace vitrine {

// The server of a fuzzed connection. Its functions run on the connection's thread.
struct FuzzServer {
  HttpHandler handler;
  std::shared_ptr<ByteBudget> received;
  // Sends, resets or drops something that the server keeps. The argument is a byte of the input that selects the
  // action, or kDropAll, which drops everything.
  std::function<void(uint8_t)> act;
  // Waits until the other threads have finished the work that was handed to them.
  std::function<void(HttpCommon&)> settle;
  // Everything that the transport must release holds a reference to this object, so a reference that remains is a leak.
  std::shared_ptr<int> token = std::make_shared<int>(0);
};
inline constexpr uint8_t kDropAll = 0xff;

// Runs a connection of the transport on this thread, over a pair of sockets. The input's first byte has settings; the
// rest is a list of steps of the client (see FuzzClient) and of the server. Requires that the connection
// - waits when it has nothing to do,
// - sends valid frames,
// - closes when the client leaves,
// - then holds no object and no counted byte.
void RunFuzzConnection(absl::string_view input, const FuzzRequests& requests, const FuzzServer& server);

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_FUZZ_CONNECTION_H_
