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

// The complete service: registry, admission, scheduler, executors and listeners. Thread-safe, except that only one
// thread may call Drain.
class Server {
 public:
  // Numbers of requests since the server's start.
  struct Counts {
    int64_t accepted = 0;  // read by a handler
    int64_t answered = 0;  // its answer or error was given to the transport
  };

  // Checks the options, opens the device, opens the listeners and begins to load models, without waiting for them. An
  // error contains every fault found, one per line. Within a process, at most one Server at a time may use a CUDA
  // device.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Opens the device and the listeners as Start does, then closes them. Returns the faults that would make Start fail,
  // and the faults that CheckFiles and CheckRepository find. Loads no model and leaves no new file. Requires options
  // that CheckConfiguration accepts.
  static absl::Status Check(ServerOptions options);
  // If Drain was not called, drains without the lame duck time, and waits at most about a second for requests.
  virtual ~Server() = default;

  // Returns the bound host:port of the gRPC listener, which also serves HTTP except with
  // ServerOptions::listen_grpc_only.
  virtual const std::string& address() const = 0;
  // Returns the bound host:port of /metrics; empty if there is no such listener.
  virtual const std::string& metrics_address() const = 0;
  // Returns "unix:///PATH" of the socket, which has the same services as address(); empty if there is no socket.
  virtual const std::string& socket_address() const = 0;
  // Returns the address of the listener for health probes; empty if there is no such listener.
  virtual const std::string& health_address() const = 0;
  // Returns the bound address of the Admin service; empty if there is no such listener.
  virtual const std::string& admin_address() const = 0;
  // Returns the address of the HTTP listener without gRPC; empty if there is no such listener.
  virtual const std::string& http_address() const = 0;

  // Waits until every version that the first poll chose to load is ready or failed. If there are ready versions, also
  // waits until one of them has computed a probe. From then on health is SERVING while a version is ready and computes
  // or, with allow_empty, while there is no version. Returns false on timeout or if the server starts to drain.
  virtual bool WaitUntilReady(absl::Duration timeout) = 0;
  // Returns the reason why the server is not ready, as in the text of /readyz; empty if it is ready. Thread-safe.
  virtual std::string WhyNotReady() = 0;

  // Ends the service. Every accepted request still gets an answer or an error. Sets health NOT_SERVING and continues to
  // serve for lame_duck (see ServerOptions). Then rejects new requests with UNAVAILABLE and waits for accepted
  // requests, at most for drain_deadline. After this time, answers waiting requests with UNAVAILABLE and waits for
  // running batches. Then ends the streams, closes the listeners and returns the final counts. If a model load still
  // runs end_patience after the last answer, writes the last log line and ends the process; Drain then never returns.
  // Drain also ends the process if the CUDA device is lost.
  virtual Counts Drain() = 0;

  // Reads the watched files again: TLS, tokens, policy and serving configuration. Returns an error with every fault,
  // one per line; a faulty file's old content stays in effect. Thread-safe.
  virtual absl::Status Reread() = 0;

  // Makes a running or later Drain skip the lame duck and wait at most about a second. Thread-safe.
  virtual void Hurry() = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVER_H_
