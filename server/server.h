// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVER_H_
#define VITRINE_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/options.h"

namespace vitrine {

// The complete service: registry, admission, scheduler, executors and the listeners. Thread-safe except Drain, which
// only one thread may call.
class Server {
 public:
  // Requests over the life of the server.
  struct Counts {
    int64_t accepted = 0;  // read by a handler
    int64_t answered = 0;  // answer or error handed to the transport
  };

  // Checks the options, opens the device, listens and begins to load; does not wait for the models. An error carries
  // every fault found, one per line. At most one server at a time may use a CUDA device.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Opens the device and the listeners as Start does, then closes them. Returns the faults that would make Start fail,
  // and those of a repository without versions, unless allow_empty. Loads nothing.
  static absl::Status Check(ServerOptions options);
  // Drains without lame duck or patience if Drain was not called.
  virtual ~Server() = default;

  // Bound host:port of gRPC, and of HTTP unless ServerOptions::listen_grpc_only.
  virtual const std::string& address() const = 0;
  // Bound host:port of /metrics; empty if it is off.
  virtual const std::string& metrics_address() const = 0;
  // "unix:///PATH" of the socket with the same services as address(); empty if there is none.
  virtual const std::string& socket_address() const = 0;
  // Address of the listener for health probes; empty if there is none.
  virtual const std::string& health_address() const = 0;
  // Bound address of the Admin service; empty if there is none.
  virtual const std::string& admin_address() const = 0;
  // Address of the listener for HTTP without gRPC; empty if there is none.
  virtual const std::string& http_address() const = 0;

  // Waits until every version that the repository held at start is ready or failed, and requests are answered
  // accordingly; from then on health is SERVING while a version is ready, or with allow_empty. Returns false on
  // timeout, or if the server drains first.
  virtual bool WaitUntilReady(absl::Duration timeout) = 0;

  // Ends the service without losing an accepted request: sets health NOT_SERVING, serves for the lame duck, rejects new
  // requests with UNAVAILABLE, waits until accepted requests are answered (at most the drain deadline; requests that
  // still wait then are answered UNAVAILABLE, running batches are waited for), ends the streams, closes the listeners,
  // stops. Returns the final counts. If a load takes longer than ServerOptions::end_patience, ends the process instead,
  // after the last log line.
  virtual Counts Drain() = 0;

  // Reads the files that are watched for changes again: TLS, tokens, policy and serving configuration. An error has
  // every fault, one per line; the old content of a faulty file stays in effect. Any thread.
  virtual absl::Status Reread() = 0;

  // Makes a running or later Drain skip the lame duck and wait no longer than about a second. Any thread.
  virtual void Hurry() = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVER_H_
