// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/health_front.h"

#include <utility>

#include "base/status_macros.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/listener.h"
#include "server/wire/rpc/served_port.h"

namespace vitrine {
namespace {

constexpr int kPosted = 4;  // calls of each kind that are asked for ahead

// Probes send a name and get a word: whoever sends more is no probe.
TransportOptions ProbeTransport() {
  TransportOptions options;
  options.max_message_bytes = 4 << 10;
  options.max_transport_bytes = 16 << 20;
  options.max_concurrent_streams = 16;
  return options;
}

class ProbeServer : public HealthFront {
 public:
  ProbeServer(ClassifyService& service, Registry& registry, const Identity& identity, Health& health)
      : parts_(service, registry, identity, health, ProbeTransport().max_message_bytes), port_(ProbeTransport()) {}

  ~ProbeServer() override { Shutdown(); }

  absl::Status Listen(const std::string& address) {
    ASSIGN_OR_RETURN(listener_, Listener::Open(address, ProbeTransport().keepalive_timeout));
    port_.builder().RegisterService(&parts_.health_rpc);
    queue_ = std::make_unique<CallQueue>(port_.builder().AddCompletionQueue());
    RETURN_IF_ERROR(port_.Start(grpc::InsecureServerCredentials()));
    serving_ = true;
    for (int i = 0; i < kPosted; ++i) PostHealthCalls(parts_, *queue_);
    queue_->Start();
    listener_->Start([this](int connection) { port_.Take(connection); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->address(); }

  void Shutdown() override {
    if (!std::exchange(serving_, false)) return;
    parts_.watches.CloseAll();
    listener_->Stop();
    port_.Shutdown(absl::ZeroDuration());
    WaitForCalls(parts_);
    queue_->Close();
  }

 private:
  CallParts parts_;  // of which only the health service is registered
  std::unique_ptr<CallQueue> queue_;
  std::unique_ptr<Listener> listener_;
  bool serving_ = false;
  ServedPort port_;  // gone before the queue
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthFront>> HealthFront::Start(const std::string& address, ClassifyService& service,
                                                                Registry& registry, const Identity& identity,
                                                                Health& health) {
  auto front = std::make_unique<ProbeServer>(service, registry, identity, health);
  const absl::Status listening = front->Listen(address);
  if (!listening.ok()) return listening;
  return front;
}

}  // namespace vitrine
