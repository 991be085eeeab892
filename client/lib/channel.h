// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CHANNEL_H_
#define VITRINE_CLIENT_LIB_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "client/lib/connect/token.h"

namespace vitrine {

// Creates a channel from the options (address, TLS, token, keepalive, sizes) without connecting it. Every channel of
// the client is created here. INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED: an option is invalid, or it names a file
// that cannot be used. UNAVAILABLE: one of several hosts has no address.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options);

// TokenOf, TargetOf, ClientArguments and ChannelTo are the steps of MakeChannel, for callers that make several
// channels. TokenOf returns the token of the options, or null. INVALID_ARGUMENT: the token would be sent over a network
// without TLS.
absl::StatusOr<std::shared_ptr<BearerToken>> TokenOf(const ClientOptions& options);
// Returns the options' address as a gRPC target. If the address has several hosts, resolves their names.
absl::StatusOr<std::string> TargetOf(const ClientOptions& options);
// Returns the arguments that MakeChannel uses for sizes, keepalive, reconnecting and the user agent.
grpc::ChannelArguments ClientArguments(const ClientOptions& options);
// Creates a channel to `target` with these arguments. Uses only the address and the TLS options of `options`.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& target, const ClientOptions& options,
                                                         grpc::ChannelArguments arguments,
                                                         std::shared_ptr<BearerToken> token);

// Waits for the connection, at most options.connect_timeout. The message of UNAVAILABLE gives the cause: connection
// refused, unknown name, invalid certificate, or TLS on only one side. UNIMPLEMENTED: the port does not serve gRPC.
absl::Status WaitUntilConnected(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options);
// Returns the cause of a failed connection from gRPC's message `detail`, such as ": there is no such socket". Empty:
// the connection was refused, or the cause is unknown. WaitUntilConnected appends it to "no server answers at ADDRESS".
std::string CauseOf(const std::string& detail, const ClientOptions& options);
// Returns true if another attempt would fail in the same way: TLS fails because of a certificate, or the server speaks
// no TLS. `status` is an error of WaitUntilConnected or of a function that calls it.
bool IsLasting(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CHANNEL_H_
