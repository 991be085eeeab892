// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/http/byte_budget.h"
#include "base/http/exchange.h"
#include "base/mutex.h"
#include "base/request_size.h"
#include "server/process/clock.h"
#include "server/wire/rpc/call_workers.h"
#include "server/wire/rpc/grpc_call.h"

namespace vitrine {

struct GrpcServerOptions {
  // Largest message that is read, as it comes and decompressed.
  int64_t max_message_bytes = kMaxRequestBytes;
  // Budget of the bytes of messages, from their arrival until nobody needs them. Null: they are not counted.
  std::shared_ptr<ByteBudget> received = {};
  // Accepts messages that are compressed with gzip; body_threads decompress them.
  bool takes_gzip = true;
  int body_threads = 1;
};

// gRPC over HTTP/2 for one listener: finds the method of a request and begins the call. Thread-safe but for Add and
// Start. Outlives its calls: the destructor waits for them, so that each must have been answered and each stream
// closed.
class GrpcServer {
 public:
  // Makes the call that has come. On the connection's thread.
  using Open = std::function<std::shared_ptr<GrpcCall>(GrpcOpening)>;

  // `clock` outlives the server.
  GrpcServer(GrpcServerOptions options, const Clock& clock);
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Adds the method "/package.Service/Method". Before Start.
  void Add(std::string_view path, Open open);
  // UNAVAILABLE if the system gives the process no threads.
  absl::Status Start() { return options_.takes_gzip ? body_workers_.Start() : absl::OkStatus(); }

  // Returns true for a request that is a call by its content type, or by its path alone: Begin refuses the latter.
  bool Takes(const HttpRequest& request) const;
  HttpNext Begin(const std::shared_ptr<HttpRequest>& request);

  // Ends the calls whose deadline is past and that nobody else ends. To be called again and again.
  void EndExpiredCalls();

  // Names of the services that have a method, in order.
  std::vector<std::string> services() const;
  const GrpcServerOptions& options() const { return options_; }
  const Clock& clock() const { return clock_; }
  // Threads that read what comes compressed, or could not be read when it came.
  CallWorkers& body_workers() { return body_workers_; }

 private:
  friend class GrpcCall;  // which lists itself
  using Expiring = std::list<GrpcCall*>;

  const GrpcServerOptions options_;
  const Clock& clock_;
  std::map<std::string, Open, std::less<>> methods_;  // by path; constant after Start
  std::atomic<int64_t> calls_ = 0;
  Mutex mutex_;
  Expiring expiring_ ABSL_GUARDED_BY(mutex_);  // calls with a deadline
  CallWorkers body_workers_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_SERVER_H_
