// SPDX-License-Identifier: Apache-2.0
#include "client/load/connections.h"

#include <utility>

#include "client/lib/channel.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kWriteBytes = 1 << 20;
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 1000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // makes each connection separate
  // Disables gRPC's retries: a retried request would be measured twice, and gRPC would keep copies of requests.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetUserAgentPrefix("vitrine-bench");
  return arguments;
}

}  // namespace

absl::StatusOr<LoadConnections> OpenConnections(const ClientOptions& options, int count) {
  RETURN_IF_ERROR(options.Validate());
  LoadConnections connections;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<Servers> servers, Servers::Open(options, Arguments()));
    servers->channel()->GetState(/*try_to_connect=*/true);  // connects all in parallel
    connections.push_back(std::move(servers));
  }
  for (const std::shared_ptr<Servers>& servers : connections) {
    RETURN_IF_ERROR(WaitUntilConnected(servers->channel(), options));
  }
  return connections;
}

}  // namespace vitrine
