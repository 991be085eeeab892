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

// Channel to the servers of ClientOptions::address. If the address is a list of hosts, their names are resolved again
// after a failed call (see Follow). If their addresses have changed, new calls use the new addresses, and calls in
// flight keep their channel. Thread-safe.
class Servers {
 public:
  // Opens a channel as MakeChannel does, but with `arguments` (by default ClientArguments(options)).
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options,
                                                       const grpc::ChannelArguments& arguments);
  static absl::StatusOr<std::shared_ptr<Servers>> Open(const ClientOptions& options);

  // Returns the channel for one call; the next call may get another channel.
  std::shared_ptr<grpc::Channel> channel() const;

  // Resolves the names again if the address is a list of hosts, at most once per second. May take seconds.
  void Look();
  // Must be called after each call. `status` is the status of the call, and `sent` is the token that the call sent.
  // Calls Look if the status is UNAVAILABLE or DEADLINE_EXCEEDED. Returns the status, but replaces UNAUTHENTICATED by
  // UNAVAILABLE (which is retried) if the token file now has another token.
  absl::Status Follow(absl::Status status, const std::string& sent);
  // Returns the token of the next call; empty if there is no token.
  std::string Token();

 private:
  Servers(ClientOptions options, const grpc::ChannelArguments& arguments)
      : options_(std::move(options)), arguments_(arguments) {}

  const ClientOptions options_;
  const grpc::ChannelArguments arguments_;
  std::shared_ptr<BearerToken> token_;  // null if there is no token

  mutable absl::Mutex mutex_;
  std::string target_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  absl::Time looked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_SERVERS_H_
