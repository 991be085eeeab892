// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SERVERS_H_
#define VITRINE_CLIENT_SERVERS_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/token.h"

namespace vitrine {

// The way to the servers of a client. The names of a list of servers are resolved again after calls were lost; if they
// have other addresses by then, calls that begin later go there, and those under way keep their channel. Thread-safe.
class Servers {
 public:
  // Of a caller with a mind of its own about sizes, keepalive, reconnecting and the user agent. Errors as MakeChannel.
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options,
                                                       const grpc::ChannelArguments& arguments);
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options);

  // For one call: the next may get another.
  std::shared_ptr<grpc::Channel> channel() const;

  // Resolves the names again, if there are several and it was not done within the last second. May take seconds.
  void Look();
  // After a call ended with `status`: looks again if no server may have answered it. Returns the status, or
  // UNAVAILABLE in place of UNAUTHENTICATED where the token of that call, the `sent` one, has been replaced meanwhile.
  absl::Status Follow(absl::Status status, const std::string& sent);
  // The token that a call sends now; empty without one.
  std::string Token();

 private:
  Servers(ClientOptions options, const grpc::ChannelArguments& arguments)
      : options_(std::move(options)), arguments_(arguments) {}

  const ClientOptions options_;
  const grpc::ChannelArguments arguments_;
  std::shared_ptr<BearerToken> token_;  // null without one

  mutable absl::Mutex mutex_;
  std::string target_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  absl::Time looked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SERVERS_H_
