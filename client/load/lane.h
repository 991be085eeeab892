// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LANE_H_
#define VITRINE_CLIENT_LOAD_LANE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/load/load.h"
#include "client/load/load_stream.h"
#include "client/load/workload/pacer.h"

namespace vitrine {

// Serialises the requests of a workload; all calls share the bytes without copies.
std::vector<grpc::ByteBuffer> SharedRequests(const Workload& workload);

// A part of a load: some of the connections, and one receiver thread. In an open loop, a lane also has a sender thread,
// because the receiver could not send at exact times: gRPC's queues wake a thread only on whole milliseconds.
class Lane {
 public:
  struct Plan {
    const Workload& workload;
    const std::vector<grpc::ByteBuffer>& requests;
    const LoadSettings& settings;
    const LoadHooks& hooks;
    const SteadyLoadClock& clock;
    MeasuredInterval interval;
    int lanes = 1;
  };

  // Creates lane `number` of plan.lanes.
  Lane(const Plan& plan, const LoadConnections& connections, int number);

  // Sends due requests until the interval ends. Must be called only in an open loop, on a separate thread.
  void Send();
  // Receives answers until sending has ended and every answer has arrived. In a closed loop it also sends.
  void Receive();

  // Returns the number of requests without an answer. Thread-safe.
  int64_t outstanding() const { return outstanding_.load(std::memory_order_relaxed); }
  // Returns the record of second `number` of the interval. Thread-safe.
  LoadRecord::Second SecondSoFar(size_t number);

  // Returns the whole record. Requires that Send and Receive have returned.
  LoadRecord Record() const;
  bool interrupted() const { return interrupted_; }
  // Share of the measured interval in which the receiver thread ran or was runnable but waiting for a CPU.
  double receiver_share() const { return receiver_share_; }
  int64_t interval_end() const { return received_.interval().to; }
  int64_t ended_at() const { return ended_at_; }  // time of the last answer, or of the last request if that is later

 private:
  // One call, or one request of a stream. Slots are reused.
  struct Slot {
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
    grpc::ByteBuffer answer;
    grpc::Status status;
    int64_t due = 0;
    uint64_t number = 0;
    uint32_t request = 0;
    // True while the slot's unary call is in flight, so that CancelAll can cancel the call.
    std::atomic<bool> under_way = false;
  };

  uint64_t Share(uint64_t all) const;
  bool Enough() const;  // true once max_requests were sent
  Slot* TakeSlot();
  void Start(Slot& slot, const Arrival& arrival, int64_t now);
  void Begin();                            // closed loop only
  void SendNext(Slot& slot, int64_t now);  // closed loop only
  void SendParked(int64_t now);            // closed loop only
  void OnEvent(void* tag, bool ok, int64_t now);
  void OnOutcomes(LoadStream::Outcomes& outcomes, int64_t now);  // handles the outcomes of the streams
  void ExpireStreams(int64_t now);
  void CloseStreams();
  void OnEnd(Slot& slot, int64_t now);
  void OnAnswer(Slot& slot, int64_t now);
  bool StillSending(int64_t now);
  void OnSent(int64_t now);
  void OnInterrupt(int64_t now);
  void WatchOwnTime(int64_t now);
  void CancelAll();

  const Plan plan_;
  const int number_;
  LoadConnections connections_;
  grpc::CompletionQueue queue_;
  std::deque<LoadStream> streams_;  // one per connection in LoadMode::kStream; else empty
  const size_t most_slots_;

  // Used by the thread that sends requests and, after all requests are sent, by the receiver thread.
  std::deque<Slot> slots_;  // a deque keeps the slots' addresses stable
  std::vector<Slot*> free_;
  uint64_t sent_ = 0;
  uint64_t measured_ = 0;  // requests due in the interval
  int64_t last_due_ = 0;

  std::atomic<bool> sending_{true};
  std::atomic<int64_t> outstanding_{0};
  std::mutex freed_mutex_;
  std::vector<Slot*> freed_;  // finished slots, which the sender reuses; guarded by freed_mutex_

  // Used by the receiver thread only.
  uint64_t look_every_ = 1;
  uint64_t answers_since_ = 0;
  int64_t look_since_ = 0;
  bool cancelled_ = false;
  bool interrupted_ = false;
  bool all_sent_ = false;
  int64_t patient_until_ = 0;  // end of the wait for answers; set with all_sent_
  int64_t ended_at_ = 0;
  std::optional<int64_t> busy_at_start_, watched_from_;  // ThreadBusyNanoseconds and time at the start of measuring
  double receiver_share_ = 0;
  struct Parked {
    int64_t until;
    Slot* slot;
  };
  std::deque<Parked> parked_;  // slots that send again at `until`, after the connection was lost

  std::mutex started_mutex_;
  LoadRecord started_;  // guarded by started_mutex_
  std::mutex received_mutex_;
  LoadRecord received_;  // guarded by received_mutex_
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LANE_H_
