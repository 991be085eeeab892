// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALLS_H_
#define VITRINE_SERVER_WIRE_RPC_CALLS_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "inference/grpc_service.grpc.pb.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/call_queue.h"
#include "server/wire/rpc/health.h"
#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine {

// Every method is raw: the bytes are read here (wire.h), so that a malformed message is refused with a sentence
// (in-band for a stream), a compressed one is unfolded within the limits, and answers are serialised by the executor's
// thread. Reflection still sees the types.
using ClassifierRpc =
    v1::Classifier::WithRawMethod_Classify<v1::Classifier::WithRawMethod_ClassifyStream<v1::Classifier::Service>>;
using RegistryRpc = v1::Registry::WithRawMethod_ListModels<
    v1::Registry::WithRawMethod_GetModel<v1::Registry::WithRawMethod_WatchModels<v1::Registry::Service>>>;
using HealthService = grpc::health::v1::Health;
using HealthRpc = HealthService::WithRawMethod_Check<HealthService::WithRawMethod_Watch<HealthService::Service>>;

// Loading and unloading are left to gRPC's own refusal where nobody asks for them.
using OipService = inference::GRPCInferenceService;
using OipInfoRpc =
    OipService::WithRawMethod_ServerLive<OipService::WithRawMethod_ServerReady<OipService::WithRawMethod_ModelReady<
        OipService::WithRawMethod_ServerMetadata<OipService::WithRawMethod_ModelMetadata<
            OipService::WithRawMethod_ModelConfig<OipService::WithRawMethod_ModelStatistics<
                OipService::WithRawMethod_RepositoryIndex<OipService::WithRawMethod_RepositoryModelLoad<
                    OipService::WithRawMethod_RepositoryModelUnload<OipService::Service>>>>>>>>>>;
using OipRpc = OipService::WithRawMethod_ModelInfer<OipService::WithRawMethod_ModelStreamInfer<OipInfoRpc>>;

// A call that lasts until its client ends it.
class LongCall {
 public:
  virtual ~LongCall() = default;
  // Ends the call from the server's side as soon as nothing of it is in flight. Any thread.
  virtual void Close() = 0;
};

// The long calls that are open, so that draining can end them. Thread-safe.
class LongCalls {
 public:
  // After CloseAll the call is closed at once.
  void Add(const std::shared_ptr<LongCall>& call) {
    {
      MutexLock lock(mutex_);
      if (!closed_) {
        open_.insert(call);
        return;
      }
    }
    call->Close();
  }
  void Remove(const std::shared_ptr<LongCall>& call) {
    MutexLock lock(mutex_);
    open_.erase(call);
  }
  void CloseAll() {
    std::vector<std::shared_ptr<LongCall>> open;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      open.assign(open_.begin(), open_.end());
    }
    for (const std::shared_ptr<LongCall>& call : open) call->Close();
  }

  size_t open() const {
    MutexLock lock(mutex_);
    return open_.size();
  }

 private:
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<LongCall>> open_ ABSL_GUARDED_BY(mutex_);
};

// What every call works with. Outlives the calls.
struct CallParts {
  CallParts(ClassifyService& service, Registry& registry, const Identity& identity, Health& health,
            int64_t max_message_bytes)
      : service(service),
        registry(registry),
        identity(identity),
        health(health),
        max_message_bytes(max_message_bytes) {}

  ClassifierRpc classifier_rpc;
  RegistryRpc registry_rpc;
  HealthRpc health_rpc;
  OipRpc oip_rpc;
  ClassifyService& service;
  Registry& registry;
  const Identity& identity;
  Health& health;
  const int64_t max_message_bytes;  // of a message that came compressed; the transport holds the others to it
  LongCalls streams;                // that carry requests
  LongCalls watches;
  std::atomic<int> live = 0;  // calls posted or running
};

// Counts a call while it exists. A queue may be shut down only after the last is gone.
class LiveCall {
 public:
  explicit LiveCall(CallParts& parts) : live_(parts.live) { live_.fetch_add(1, std::memory_order_relaxed); }
  ~LiveCall() {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) == 1) live_.notify_all();
  }
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;

 private:
  std::atomic<int>& live_;
};

// Blocks until no call is left. Requires that the server is shut down.
inline void WaitForCalls(CallParts& parts) {
  for (int left = parts.live.load(); left != 0; left = parts.live.load()) parts.live.wait(left);
}

// Each asks gRPC for one call of its kind on this queue; when one comes it asks for the next and serves it. The call
// owns itself and is gone when every operation of it has come back.
void PostClassify(CallParts& parts, CallQueue& queue);
void PostClassifyStream(CallParts& parts, CallQueue& queue);
// One of each method of the service.
void PostRegistryCalls(CallParts& parts, CallQueue& queue);
void PostHealthCalls(CallParts& parts, CallQueue& queue);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALLS_H_
