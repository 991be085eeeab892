// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OPEN_CONNECTIONS_H_
#define VITRINE_SERVER_WIRE_RPC_OPEN_CONNECTIONS_H_

#include <cstdint>
#include <map>

#include "base/mutex.h"

namespace vitrine {

// How many of the connections that were handed to gRPC are still open. gRPC does not tell when it closes one: a
// descriptor that is closed, or is another socket by now, is recognised by the socket's cookie. Thread-safe.
class OpenConnections {
 public:
  // `descriptor` is a connected socket that is about to be handed over.
  void Add(int descriptor);
  // Asks the kernel about each of them.
  int64_t Count();

 private:
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // those that are closed

  Mutex mutex_;
  std::map<int, uint64_t> cookies_ ABSL_GUARDED_BY(mutex_);  // by descriptor
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OPEN_CONNECTIONS_H_
