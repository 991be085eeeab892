// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc_front.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/listener.h"
#include "server/wire/rpc/open_connections.h"

namespace vitrine {
namespace {

// Calls of each kind that are asked for ahead on each queue. More unary ones let a burst be matched without waiting for
// the queue's thread.
constexpr int kPostedClassify = 64;
constexpr int kPostedOther = 4;

// Reflection for this server alone; served_port.cc says why that needs doing.
class Reflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->push_back(std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>());
  }
};

class RpcServer : public RpcFront {
 public:
  RpcServer(const RpcOptions& options, ClassifyService& service, Registry& registry, const Identity& identity,
            Health& health)
      : options_(options), parts_(service, registry, identity, health, options.max_message_bytes), port_(options) {}

  ~RpcServer() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Listen() {
    ASSIGN_OR_RETURN(listener_, Listener::Open(options_.listen, options_.keepalive_timeout));
    grpc::ServerBuilder& builder = port_.builder();
    if (options_.probes_only) {
      builder.RegisterService(&parts_.health_rpc);
    } else {
      RegisterAll(builder);
    }
    for (int i = 0; i < std::max(1, options_.queues); ++i) {
      queues_.push_back(std::make_unique<CallQueue>(
          builder.AddCompletionQueue(), [this] { return !options_.probes_only && parts_.service.RefusesTheLate(); }));
    }
    if (!options_.socket.empty()) {
      ASSIGN_OR_RETURN(socket_, Listener::OpenUnix(options_.socket));
      port_.AddLocal();
    }
    RETURN_IF_ERROR(
        port_.Start(options_.probes_only ? grpc::InsecureServerCredentials() : parts_.identity.ListenerCredentials()));
    serving_ = true;
    for (const std::unique_ptr<CallQueue>& queue : queues_) Open(*queue);
    Accept(*listener_, &ServedPort::Take);
    if (socket_ != nullptr) Accept(*socket_, &ServedPort::TakeLocal);
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->address(); }
  std::string socket_address() const override { return socket_ == nullptr ? "" : socket_->address(); }
  int64_t open_connections() override { return connections_.Count(); }
  int64_t open_streams() override { return static_cast<int64_t>(parts_.streams.open() + parts_.watches.open()); }
  void CloseStreams() override { parts_.streams.CloseAll(); }

  // gRPC aborts when an operation is started on a queue that is shut down. Posted calls come back from
  // Server::Shutdown, running ones end by their own; only then nothing starts an operation any more.
  void Shutdown(absl::Duration grace) override {
    if (!std::exchange(serving_, false)) return;
    CloseStreams();
    parts_.watches.CloseAll();
    listener_->Stop();
    if (socket_ != nullptr) socket_->Stop();
    port_.Shutdown(grace);
    WaitForCalls(parts_);
    for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Close();
  }

 private:
  void RegisterAll(grpc::ServerBuilder& builder) {
    // Messages of requests come as they were sent, and are unfolded where they are read (wire.h): the transport would
    // unfold a small one to a thousand times its size before any limit sees it.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, true);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.RegisterService(&parts_.classifier_rpc);
    builder.RegisterService(&parts_.registry_rpc);
    builder.RegisterService(&parts_.health_rpc);
    builder.RegisterService(&parts_.oip_rpc);
    if (!parts_.identity.enabled()) builder.SetOption(std::make_unique<Reflection>());
  }

  void Accept(Listener& listener, void (ServedPort::*take)(int)) {
    if (options_.probes_only) return listener.Start([this](int connection) { port_.Take(connection); });
    listener.Start(
        [this, take](int connection) {
          parts_.service.metrics().server().connections.fetch_add(1, std::memory_order_relaxed);
          MutexLock lock(taking_);
          try {
            connections_.Add(connection);
          } catch (const std::bad_alloc&) {
            CountOutOfMemory();  // it is served all the same, and missing in a gauge
          }
          (port_.*take)(connection);
        },
        [this] { parts_.service.metrics().server().connections_refused.fetch_add(1, std::memory_order_relaxed); });
  }

  void Open(CallQueue& queue) {
    for (int i = 0; i < kPostedOther; ++i) PostHealthCalls(parts_, queue);
    for (int i = 0; i < kPostedClassify && !options_.probes_only; ++i) {
      PostClassify(parts_, queue);
      PostModelInfer(parts_, queue);
    }
    for (int i = 0; i < kPostedOther && !options_.probes_only; ++i) {
      PostClassifyStream(parts_, queue);
      PostRegistryCalls(parts_, queue);
      PostModelStreamInfer(parts_, queue);
      PostOipCalls(parts_, queue);
    }
    queue.Start();
  }

  const RpcOptions options_;
  CallParts parts_;
  std::vector<std::unique_ptr<CallQueue>> queues_;
  OpenConnections connections_;
  Mutex taking_;  // ServedPort takes from one thread at a time
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> socket_;  // null without options_.socket
  bool serving_ = false;
  ServedPort port_;  // gone before the queues
};

}  // namespace

RpcOptions ProbeOptions(const std::string& listen) {
  RpcOptions options;
  options.listen = listen;
  options.probes_only = true;
  // Probes send a name and get a word: whoever sends more is no probe.
  options.max_message_bytes = 4 << 10;
  options.max_transport_bytes = 16 << 20;
  options.max_concurrent_streams = 16;
  return options;
}

absl::StatusOr<std::unique_ptr<RpcFront>> RpcFront::Start(const RpcOptions& options, ClassifyService& service,
                                                          Registry& registry, const Identity& identity,
                                                          Health& health) {
  auto front = std::make_unique<RpcServer>(options, service, registry, identity, health);
  const absl::Status listening = front->Listen();
  if (!listening.ok()) return listening;
  return front;
}

}  // namespace vitrine
