// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/http/byte_budget.h"
#include "common/http/exchange.h"
#include "common/http/workers.h"
#include "common/mutex.h"
#include "common/request_size.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/wire/rpc/grpc_call.h"

namespace vitrine {

struct GrpcServerOptions {
  // Maximum size of a request message, both as received and after decompression.
  int64_t max_message_bytes = kMaxRequestBytes;
  // Budget for the bytes of messages, from their arrival until they are released. Null: they are not counted.
  std::shared_ptr<ByteBudget> received = {};
  bool takes_gzip = true;  // true: gzip-compressed messages are accepted
  int body_threads = 1;    // threads that decompress messages, and parse large ones
  // True: calls keep all metadata. False: only the headers that the calls of this server read.
  bool keeps_metadata = false;
  std::string unknown_hint = {};  // appended to the error for a method that the server does not have
};

// gRPC over HTTP/2 for one listener: finds the method of a request and begins the call. Thread-safe except Add and
// Start. The destructor waits until all calls are destroyed, so every call must end: it must be answered, and its
// stream must be closed.
class GrpcServer {
 public:
  // Creates the object of a new call, on the connection's thread.
  using Open = std::function<std::shared_ptr<GrpcCall>(GrpcOpening)>;

  // `clock` must outlive the server.
  GrpcServer(GrpcServerOptions options, const Clock& clock);
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Adds the method with the path "/package.Service/Method". Call before Start.
  void Add(std::string_view path, Open open);
  // Starts the threads for compressed and large messages. UNAVAILABLE: a thread cannot be created.
  absl::Status Start() { return body_workers_.Start(); }

  // Returns true if the content type is gRPC's, or if the request is a POST to the path of a method. In the second
  // case, Begin rejects a wrong content type.
  bool Takes(const HttpRequest& request) const;
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request);

  // Calls OnDeadline of each call whose deadline has passed.
  void EndExpiredCalls();
  // Starts a thread that calls EndExpiredCalls when a deadline passes, and ten times per second. Call once.
  // UNAVAILABLE: the thread cannot be created.
  absl::Status StartDeadlines();

  // Returns the names of the services that have methods, sorted.
  std::vector<std::string> services() const;
  const GrpcServerOptions& options() const { return options_; }
  const Clock& clock() const { return clock_; }
  // Returns the threads that decompress and compress messages, and parse large ones. They also read the bytes that
  // arrived while reading was paused or a message was being decompressed.
  Workers& body_workers() { return body_workers_; }

 private:
  friend class GrpcCall;  // GrpcCall adds itself to expiring_ and removes itself
  using Expiring = std::multimap<absl::Time, GrpcCall*>;

  Expiring::iterator AddExpiring(GrpcCall& call);

  const GrpcServerOptions options_;
  const Clock& clock_;
  std::map<std::string, Open, std::less<>> methods_;  // by path; constant after Start
  std::atomic<int64_t> calls_ = 0;
  Mutex mutex_;
  Expiring expiring_ ABSL_GUARDED_BY(mutex_);  // calls that have a deadline, by deadline
  Workers body_workers_;
  // null before StartDeadlines; last member: its thread uses the members above
  std::unique_ptr<Ticker> deadlines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_
