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
#include "common/http/exchange.h"
#include "common/http/workers.h"
#include "common/mutex.h"
#include "server/identity/credentials.h"
#include "server/identity/identity.h"
#include "server/process/crash_stack.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// A call that stays open until its client ends it.
class OpenEndedCall {
 public:
  virtual ~OpenEndedCall() = default;
  // Ends the call with UNAVAILABLE once no request of the call is in flight. Thread-safe.
  virtual void Close() = 0;
};

// The open calls of type OpenEndedCall, so that draining can end these calls. Thread-safe.
class OpenEndedCalls {
 public:
  // Adds a call. After CloseAll, closes it at once.
  void Add(const std::shared_ptr<OpenEndedCall>& call);
  void Remove(const std::shared_ptr<OpenEndedCall>& call);
  void CloseAll();
  size_t open() const;

 private:
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<OpenEndedCall>> open_ ABSL_GUARDED_BY(mutex_);
};

// The services that answer the calls, and state that the calls share. Must outlive the calls.
struct CallParts {
  ClassifyService& service;
  Registry& registry;
  const Identity& identity;
  Health& health;
  // Threads for work that is not limited by a quota.
  Workers workers{
      {.name = "plain-calls", .niceness = 10, .most = 1024, .most_per_account = 32, .on_thread = WithCrashStack}};
  OpenEndedCalls streams = {};  // calls in which the client sends requests
  OpenEndedCalls watches = {};
};

// Returns the credentials in a request: the header "authorization" and the names in the client's certificate. The admin
// listener adds uid and on_admin_listener.
Credentials CredentialsOf(const HttpRequest& request);

// Authorizes a gRPC call of a client with Identity::Authorize when the call begins. Counts and logs the result.
absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const HttpRequest& request);

// Returns the fields of CallContext that all requests of a call share.
CallContext ContextOf(Method method, const GrpcOpening& opening);

// Parses `received` into `message`. INVALID_ARGUMENT: the bytes are not a message of this type.
absl::Status ParseMessage(const ReceivedBytes& received, google::protobuf::Message& message);

// Maximum size of a message in a call without images.
inline constexpr int64_t kMaxPlainMessageBytes = int64_t{64} << 10;

// Longest name that a health check or a watch accepts; no model or service name is longer. CheckNameLength returns
// INVALID_ARGUMENT if `name` is longer. `what` is the word for the name in the message, for example "model".
inline constexpr size_t kMaxNameBytes = 128;
absl::Status CheckNameLength(const std::string& what, const std::string& name);

// Each of these functions adds the methods of one service. `parts` must outlive the server's calls.
void AddClassifierCalls(GrpcServer& server, CallParts& parts);
void AddRegistryCalls(GrpcServer& server, CallParts& parts);
void AddHealthCalls(GrpcServer& server, CallParts& parts);
// Adds reflection. Must be called last, because reflection reports the services that the server has at that time.
void AddReflectionCalls(GrpcServer& server, CallParts& parts);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALLS_H_
