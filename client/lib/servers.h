// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_SERVERS_H_
#define VITRINE_CLIENT_LIB_SERVERS_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/lib/client.h"
#include "client/lib/connect/token.h"

namespace vitrine {

// Channel to the servers of a client. After a lost call, the names in a list of servers are resolved again. If the
// addresses have changed, new calls use the new addresses, and calls in flight keep their channel. Thread-safe.
class Servers {
 public:
  // Opens a channel like MakeChannel, with the caller's arguments for sizes, keepalive, reconnecting and the user
  // agent.
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options,
                                                       const grpc::ChannelArguments& arguments);
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options);

  // Returns the channel for one call; the next call may get another.
  std::shared_ptr<grpc::Channel> channel() const;

  // Resolves the names in a list of servers again, at most once per second. May take seconds.
  void Look();
  // Call this after each call, with the call's `status` and the token `sent`. Resolves names again if the status is
  // UNAVAILABLE or DEADLINE_EXCEEDED. Returns the status, but replaces UNAUTHENTICATED by UNAVAILABLE if the token file
  // now has another token.
  absl::Status Follow(absl::Status status, const std::string& sent);
  // Returns the token of the next call; empty if there is no token.
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

#endif  // VITRINE_CLIENT_LIB_SERVERS_H_
