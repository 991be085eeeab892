// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALLS_H_
#define VITRINE_SERVER_WIRE_RPC_CALLS_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/exchange.h"
#include "base/mutex.h"
#include "server/identity/credentials.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/call_workers.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// A call that lasts until its client ends it.
class LongCall {
 public:
  virtual ~LongCall() = default;
  // Ends the call with UNAVAILABLE once nothing of it is in flight. Any thread.
  virtual void Close() = 0;
};

// The long calls that are open, so that draining can end them. Thread-safe.
class LongCalls {
 public:
  // After CloseAll the call is closed at once.
  void Add(const std::shared_ptr<LongCall>& call);
  void Remove(const std::shared_ptr<LongCall>& call);
  void CloseAll();
  size_t open() const;

 private:
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<LongCall>> open_ ABSL_GUARDED_BY(mutex_);
};

// The services behind the calls, and what the calls share. Outlives them.
struct CallParts {
  ClassifyService& service;
  Registry& registry;
  const Identity& identity;
  Health& health;
  // For work that no quota covers.
  CallWorkers workers{{.name = "plain-calls", .threads = 2, .niceness = 10}};
  LongCalls streams = {};  // that carry requests
  LongCalls watches = {};
};

// Returns the credentials of a request: the header "authorization" and the client's certificate. Listeners that go by
// the user behind a unix socket, or by their own kind, add these.
Credentials CredentialsOf(const HttpRequest& request);

// The one check in front of every call: see Identity::Authorize. Counted.
absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const Credentials& credentials);

// Returns the part of CallContext that is the same for every request of a call.
CallContext ContextOf(Method method, const GrpcOpening& opening);

// INVALID_ARGUMENT if the bytes are no such message.
absl::Status ParseMessage(const ReceivedBytes& received, google::protobuf::Message& message);

// Largest message of a call without pictures.
inline constexpr int64_t kMaxPlainMessageBytes = int64_t{64} << 10;

// Longest name that a health check or a watcher may ask for; no model or service has a longer one. `what` names it.
inline constexpr size_t kMaxAskedName = 128;
absl::Status CheckAskedName(const std::string& what, const std::string& name);

// Each adds the methods of one service. `parts` outlive the server's calls.
void AddClassifierCalls(GrpcServer& server, CallParts& parts);
void AddRegistryCalls(GrpcServer& server, CallParts& parts);
void AddHealthCalls(GrpcServer& server, CallParts& parts);
// Last: they tell of every service that the server has by then.
void AddReflectionCalls(GrpcServer& server, CallParts& parts);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALLS_H_
