// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CHANNEL_H_
#define VITRINE_CLIENT_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/token.h"

namespace vitrine {

// A channel as the options say (address, TLS, token, keepalive, sizes), not connected yet. Every channel of the client
// is made here. INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED: an option or a file that it names is wrong.
// UNAVAILABLE: one of several hosts has no address.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options);

// Its parts, for those who make several. The token of the options, null without one; refused where it would cross a
// network without TLS.
absl::StatusOr<std::shared_ptr<BearerToken>> TokenOf(const ClientOptions& options);
// The address as gRPC takes it; names of several hosts are resolved.
absl::StatusOr<std::string> TargetOf(const ClientOptions& options);
// What MakeChannel says about sizes, keepalive, reconnecting and the user agent.
grpc::ChannelArguments ClientArguments(const ClientOptions& options);
// A channel to `target` with other arguments than these: only address and TLS come from the options.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& target, const ClientOptions& options,
                                                         grpc::ChannelArguments arguments,
                                                         std::shared_ptr<BearerToken> token);

// Waits for the connection, at most options.connect_timeout. UNAVAILABLE says why there is none: nobody listens, the
// name is unknown, the certificate is not believed, the other side does not speak TLS or asks for it.
absl::Status WaitUntilConnected(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CHANNEL_H_
