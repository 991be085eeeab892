// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/served_port.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace vitrine {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT32_MAX));
}

// Whatever links gRPC's reflection library has it on every server of the process: a static initialiser sees to that.
// Here a server has it only if it asks (rpc_front.cc).
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> AddAcceptor(
    grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials) {
  return builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, std::move(credentials));
}

void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& acceptor) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
  taken.fd = connection;
  acceptor.HandleNewConnection(&taken);
}

}  // namespace

ServedPort::ServedPort(const TransportOptions& options) {
  static std::once_flag once;
  // The built-in one runs on callback threads, which poll beside our queues and slow them down.
  std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(false); });
  builder_.SetOption(std::make_unique<WithoutReflection>());
  builder_.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder_.SetMaxSendMessageSize(-1);
  // gRPC buffers a message until its last byte has come, as many at once as there are streams.
  grpc::ResourceQuota quota("vitrine");
  quota.Resize(static_cast<size_t>(options.max_transport_bytes));
  builder_.SetResourceQuota(quota);
  // A compressed message may unfold to a thousand times its size before any limit sees it.
  builder_.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder_.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder_.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.max_connection_age));
  builder_.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(options.connection_age_grace));
  builder_.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(options.max_connection_idle));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder_.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Milliseconds(options.min_ping_interval));
  builder_.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  builder_.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(options.max_metadata_bytes));
  builder_.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(options.handshake_timeout));
  // Synchronous services, reflection and Admin, need few threads.
  builder_.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder_.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder_.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
}

void ServedPort::AddLocal() {
  local_acceptor_ = AddAcceptor(builder_, grpc::InsecureServerCredentials());
}

absl::Status ServedPort::Start(std::shared_ptr<grpc::ServerCredentials> credentials) {
  acceptor_ = AddAcceptor(builder_, std::move(credentials));
  server_ = builder_.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError("gRPC cannot start; its own message stands before this one");
}

void ServedPort::Take(int connection) {
  HandOver(connection, *acceptor_);
}

void ServedPort::TakeLocal(int connection) {
  HandOver(connection, *local_acceptor_);
}

void ServedPort::Shutdown(absl::Duration grace) {
  if (server_ == nullptr || std::exchange(shut_down_, true)) return;
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
}

}  // namespace vitrine
