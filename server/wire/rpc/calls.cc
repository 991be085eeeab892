// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/calls.h"

#include "absl/strings/str_cat.h"
#include "server/observe/trace_context.h"

namespace vitrine {

void LongCalls::Add(const std::shared_ptr<LongCall>& call) {
  {
    MutexLock lock(mutex_);
    if (!closed_) {
      open_.insert(call);
      return;
    }
  }
  call->Close();
}

void LongCalls::Remove(const std::shared_ptr<LongCall>& call) {
  MutexLock lock(mutex_);
  open_.erase(call);
}

void LongCalls::CloseAll() {
  std::set<std::shared_ptr<LongCall>> open;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    open = open_;
  }
  for (const std::shared_ptr<LongCall>& call : open) call->Close();
}

size_t LongCalls::open() const {
  MutexLock lock(mutex_);
  return open_.size();
}

Credentials CredentialsOf(const HttpRequest& request) {
  return {.authorization = request.Header("authorization"), .certificate_names = request.peer->certificate_names};
}

absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const Credentials& credentials) {
  absl::StatusOr<Caller> caller = parts.identity.Authorize(rpc, credentials);
  parts.service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

CallContext ContextOf(Method method, const GrpcOpening& opening) {
  const HttpRequest& request = *opening.request;
  return {.peer = request.peer->address,
          .method = method,
          .deadline = opening.deadline,
          .cancelled = request.hung_up,
          .trace = ParseTraceparent(request.Header("traceparent").value_or(""))};
}

absl::Status ParseMessage(const ReceivedBytes& received, google::protobuf::Message& message) {
  if (message.ParseFromString(received.bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message cannot be parsed as ", message.GetDescriptor()->full_name()));
}

absl::Status CheckAskedName(const std::string& what, const std::string& name) {
  if (name.size() <= kMaxAskedName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " is ", name.size(), " bytes long; names have at most ", kMaxAskedName));
}

}  // namespace vitrine
