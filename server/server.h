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

// The whole service: registry, admission, scheduler, executors and the listeners. Thread-safe but for Drain, which one
// thread calls.
class Server {
 public:
  // Requests over the life of the server.
  struct Counts {
    int64_t accepted = 0;  // read by a handler
    int64_t answered = 0;  // answer or refusal handed to the transport
  };

  // Checks everything, opens the device, listens and begins to load; does not wait for the models. The status carries
  // every fault found, one per line. At most one server at a time uses a CUDA device.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Opens the device and the listeners as Start does, and closes them: what would keep Start from starting. Loads
  // nothing. A repository in which there is nothing to serve is a fault too, unless allow_empty.
  static absl::Status Check(ServerOptions options);
  // Drains without lame duck or patience if Drain was not called.
  virtual ~Server() = default;

  // host:port as bound, of gRPC, and of HTTP unless ServerOptions::listen_grpc_only.
  virtual const std::string& address() const = 0;
  // Empty where the page is off.
  virtual const std::string& metrics_address() const = 0;
  // "unix:///PATH" of the socket that takes the same as address(); empty where there is none.
  virtual const std::string& socket_address() const = 0;
  // Of the listener for health probes; empty where there is none.
  virtual const std::string& health_address() const = 0;
  // Of the Admin service, as bound; empty where there is none.
  virtual const std::string& admin_address() const = 0;
  // Of the listener for HTTP without gRPC; empty where there is none.
  virtual const std::string& http_address() const = 0;

  // True once every version that the repository held at start is ready or refused, and requests are answered by that;
  // health is SERVING from then on while a version is ready, or with allow_empty. False if that takes longer than the
  // timeout, or the server drains before.
  virtual bool WaitUntilReady(absl::Duration timeout) = 0;

  // Ends the service without losing an accepted request: health NOT_SERVING, serve on for the lame duck, refuse what is
  // new with UNAVAILABLE, wait until accepted requests are answered (at most the drain deadline; those that still
  // wait are answered UNAVAILABLE, a batch that is running is waited for), end the streams, close the listener, stop.
  // Returns the final counts; ends the process instead, after the last log line, where ServerOptions::end_patience is
  // over before a load is.
  virtual Counts Drain() = 0;

  // Reads the files again that are read again when they change: TLS, tokens, policy and serving configuration. The
  // status has every fault, one per line; what a file at fault said before holds on. Any thread.
  virtual absl::Status Reread() = 0;

  // Makes a running or coming Drain skip the lame duck and wait no longer than a second. Any thread.
  virtual void Hurry() = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVER_H_
