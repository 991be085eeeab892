#include "server/rpc_front.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "server/calls.h"
#include "server/listener.h"

namespace vitrine {
namespace {

// Calls of each kind that are asked for ahead on each queue. More unary ones let a burst be matched without waiting for
// the queue's thread.
constexpr int kPostedClassify = 64;
constexpr int kPostedOther = 4;

// Streams that are open when a connection reaches its age may go on for this long.
constexpr absl::Duration kConnectionAgeGrace = absl::Minutes(5);
constexpr absl::Duration kConnectionIdle = absl::Minutes(5);
constexpr absl::Duration kKeepaliveTime = absl::Minutes(1);
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);
// A client may ping this often without being sent away.
constexpr absl::Duration kMinPingInterval = absl::Seconds(10);
// A client opens more connections, or waits, beyond this many calls at once.
constexpr int kMaxConcurrentStreams = 256;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT32_MAX));
}

void SetTransport(const RpcOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(-1);
  // gRPC buffers a message until its last byte has come, as many at once as there are streams.
  grpc::ResourceQuota quota("vitrine");
  quota.Resize(static_cast<size_t>(options.max_transport_bytes));
  builder.SetResourceQuota(quota);
  // Pictures are compressed already, and a compressed message may unfold to a thousand times its size before any limit
  // sees it.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  if (options.max_connection_age < absl::InfiniteDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.max_connection_age));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(kConnectionAgeGrace));
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(kConnectionIdle));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveTime));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, Milliseconds(kMinPingInterval));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
  // Reflection is a synchronous service of gRPC's own; it needs few threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
}

class Front : public RpcFront {
 public:
  Front(ClassifyService& service, Registry& registry) : parts_(service, registry) {}

  ~Front() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Listen(const RpcOptions& options) {
    static std::once_flag once;
    std::call_once(once, [] {
      // The built-in one runs on callback threads, which poll beside our queues and slow them down.
      grpc::EnableDefaultHealthCheckService(false);
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    });
    grpc::ServerBuilder builder;
    SetTransport(options, builder);
    ASSIGN_OR_RETURN(listener_, Listener::Open(options.listen, kKeepaliveTimeout));
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
    builder.RegisterService(&parts_.classifier_rpc);
    builder.RegisterService(&parts_.registry_rpc);
    builder.RegisterService(&parts_.health_rpc);
    for (int i = 0; i < options.queues; ++i) {
      queues_.push_back(std::make_unique<CallQueue>(builder.AddCompletionQueue()));
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::UnavailableError("gRPC cannot start; its own message stands before this one");
    for (const std::unique_ptr<CallQueue>& queue : queues_) Open(*queue);
    listener_->Start([this](int connection) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
      taken.fd = connection;
      acceptor_->HandleNewConnection(&taken);
    });
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->address(); }
  Health& health() override { return parts_.health; }
  void CloseLongCalls() override { parts_.long_calls.CloseAll(); }

  // gRPC aborts when an operation is started on a queue that is shut down. Posted calls come back from
  // Server::Shutdown, running ones end by their own; only then nothing starts an operation any more.
  void Shutdown(absl::Duration grace) override {
    if (server_ == nullptr) return;
    CloseLongCalls();
    listener_->Stop();
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
    WaitForCalls(parts_);
    for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Close();
    server_.reset();
  }

 private:
  void Open(CallQueue& queue) {
    for (int i = 0; i < kPostedClassify; ++i) PostClassify(parts_, queue);
    for (int i = 0; i < kPostedOther; ++i) {
      PostClassifyStream(parts_, queue);
      PostRegistryCalls(parts_, queue);
      PostHealthCalls(parts_, queue);
    }
    queue.Start();
  }

  CallParts parts_;
  std::vector<std::unique_ptr<CallQueue>> queues_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RpcFront>> RpcFront::Start(const RpcOptions& options, ClassifyService& service,
                                                          Registry& registry) {
  auto front = std::make_unique<Front>(service, registry);
  const absl::Status listening = front->Listen(options);
  if (!listening.ok()) return listening;
  return front;
}

}  // namespace vitrine
