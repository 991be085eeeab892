// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/calls.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/http/request_id.h"
#include "server/observe/trace_context.h"

namespace vitrine {

void OpenEndedCalls::Add(const std::shared_ptr<OpenEndedCall>& call) {
  {
    MutexLock lock(mutex_);
    if (!closed_) {
      open_.insert(call);
      return;
    }
  }
  call->Close();
}

void OpenEndedCalls::Remove(const std::shared_ptr<OpenEndedCall>& call) {
  MutexLock lock(mutex_);
  open_.erase(call);
}

void OpenEndedCalls::CloseAll() {
  std::set<std::shared_ptr<OpenEndedCall>> open;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    open = open_;
  }
  for (const std::shared_ptr<OpenEndedCall>& call : open) call->Close();
}

size_t OpenEndedCalls::open() const {
  MutexLock lock(mutex_);
  return open_.size();
}

Credentials CredentialsOf(const HttpRequest& request) {
  return {.authorization = request.Header("authorization"), .certificate_names = request.peer->certificate_names};
}

absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const HttpRequest& request) {
  absl::StatusOr<Caller> caller = parts.identity.Authorize(rpc, CredentialsOf(request));
  parts.service.CountAuthorization(rpc, caller, request.peer->address, RequestIdOf(request.head).value_or(""));
  return caller;
}

namespace {

// Default message limit of gRPC clients. It is assumed for clients that do not send their own limit, because gRPC has
// no header for it.
constexpr int64_t kDefaultMessageBytes = int64_t{4} << 20;

// Returns the size of the largest message that the client accepts. The client may send this size as metadata; if it is
// absent or not a number, the gRPC default applies. A negative value means no limit. The clients of this project also
// count as clients without a limit, because they derive their own limit from the request.
int64_t MostMessageBytes(const HttpRequest& request) {
  const std::string agent = request.Header("user-agent").value_or("");
  if (absl::StartsWith(agent, "vitrine-")) return INT64_MAX;
  int64_t said = 0;
  if (!absl::SimpleAtoi(request.Header(kMessageBytesMetadata).value_or(""), &said)) return kDefaultMessageBytes;
  return said < 0 ? INT64_MAX : said;
}

}  // namespace

CallContext ContextOf(Method method, const GrpcOpening& opening) {
  const HttpRequest& request = *opening.request;
  return {.peer = request.peer->address,
          .method = method,
          .request_id = RequestIdOf(request.head).value_or(""),
          .deadline = opening.deadline,
          .cancelled = request.hung_up,
          .trace = ParseTraceparent(request.Header("traceparent").value_or("")),
          .form = {.most_message_bytes = MostMessageBytes(request)}};
}

absl::Status ParseMessage(const ReceivedBytes& received, google::protobuf::Message& message) {
  if (message.ParseFromString(received.bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message cannot be parsed as ", message.GetDescriptor()->full_name()));
}

absl::Status CheckNameLength(const std::string& what, const std::string& name) {
  if (name.size() <= kMaxNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " is ", name.size(), " bytes long; names have at most ", kMaxNameBytes));
}

}  // namespace vitrine
