#ifndef VITRINE_SERVER_RPC_FRONT_H_
#define VITRINE_SERVER_RPC_FRONT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/request_size.h"
#include "server/classify_service.h"
#include "server/health.h"
#include "server/registry.h"

namespace vitrine {

struct RpcOptions {
  // host:port. Port 0 picks a free one.
  std::string listen = "0.0.0.0:8500";
  // Largest message that is read. One byte more is refused by the transport with RESOURCE_EXHAUSTED.
  int64_t max_message_bytes = kMaxRequestBytes;
  // What the transport may hold of messages that are still on their way, over all connections. Beyond it the transport
  // stops reading and ends calls with RESOURCE_EXHAUSTED. At least two of the largest messages; more lets more callers
  // send at once, and leaves less memory for models.
  int64_t max_transport_bytes = int64_t{512} << 20;
  // Threads that read calls, each with its own completion queue. One feeds several executors; more only help where the
  // transport itself is the limit.
  int queues = 1;
  // A connection older than this is asked to reconnect, which spreads long-lived clients over replicas and reaps idle
  // ones. Infinite keeps connections for ever.
  absl::Duration max_connection_age = absl::Minutes(30);
};

// The gRPC listener: Classifier, Registry, health and reflection, on completion queues with one thread each.
// Thread-safe but for Shutdown.
class RpcFront {
 public:
  // Listens and serves; health says NOT_SERVING until Health::SetServing. `service` and `registry` outlive the front.
  // UNAVAILABLE if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<RpcFront>> Start(const RpcOptions& options, ClassifyService& service,
                                                         Registry& registry);
  virtual ~RpcFront() = default;

  // host:port as bound.
  virtual const std::string& address() const = 0;

  // What health answers: see health.h.
  virtual Health& health() = 0;

  // Ends streams and watches as soon as what is in flight on them is answered.
  virtual void CloseLongCalls() = 0;

  // Stops listening, waits up to `grace` for calls, cancels the rest and ends the threads. Requires that every request
  // was answered, or will be without this thread: an answer must not come later. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_RPC_FRONT_H_
