// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_queue.h"

#include <grpc/support/time.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <new>

#include "server/process/crash_stack.h"
#include "server/process/out_of_memory.h"

namespace vitrine {
namespace {

constexpr size_t kMostKinds = 64;  // of calls, on one queue

// Whether this thread reads at once, or lets others compute on. A system that forbids the change serves as well
// otherwise.
void Schedule(bool at_once) {
  const sched_param priority = {};
  // 0: this thread. gRPC starts threads of its own from it, which are to be scheduled as ever.
  (void)sched_setscheduler(0, (at_once ? SCHED_OTHER : SCHED_BATCH) | SCHED_RESET_ON_FORK, &priority);
}

}  // namespace

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::function<bool()> crowded)
    : queue_(std::move(queue)), crowded_(std::move(crowded)) {
  owed_.reserve(kMostKinds);
}

CallQueue::~CallQueue() {
  Close();
}

void CallQueue::Start() {
  thread_ = std::thread(&CallQueue::Run, this);
}

bool CallQueue::Post(absl::FunctionRef<void(grpc::ServerCompletionQueue*)> post) {
  MutexLock lock(mutex_);
  if (!posting_) return false;
  post(queue_.get());
  return true;
}

void CallQueue::Renew(Ask ask, CallParts& parts) {
  try {
    ask(parts, *this);
  } catch (const std::bad_alloc&) {
    CountOutOfMemory();
    const auto owed = std::find_if(owed_.begin(), owed_.end(), [&](const Owed& owed) { return owed.ask == ask; });
    if (owed != owed_.end()) {
      ++owed->calls;
    } else {
      owed_.push_back({ask, &parts, 1});
    }
  }
}

void CallQueue::PayOne() {
  Owed& owed = owed_.back();
  try {
    owed.ask(*owed.parts, *this);
    if (--owed.calls == 0) owed_.pop_back();
  } catch (const std::bad_alloc&) {  // still none
  }
}

void CallQueue::Close() {
  {
    MutexLock lock(mutex_);
    posting_ = false;
  }
  if (!thread_.joinable()) return;
  queue_->Shutdown();
  thread_.join();
}

void CallQueue::Run() {
  const CrashHandlerStack crash_stack;
  pthread_setname_np(pthread_self(), "calls");
  const bool may_wait = sched_getscheduler(0) == SCHED_OTHER;  // nobody chose another for the whole process
  bool at_once = true;
  // No call of ours throws; should one, its event is lost, and the call with it; the process is not.
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    try {
      if (!Next(&tag, &ok)) return;
      static_cast<CompletionTag*>(tag)->Complete(ok);
      if (may_wait && crowded_() == at_once) Schedule(at_once = !at_once);
      if (!owed_.empty()) PayOne();
    } catch (const std::bad_alloc&) {
      CountOutOfMemory();
    }
  }
}

bool CallQueue::Next(void** tag, bool* ok) {
  while (!owed_.empty()) {
    const gpr_timespec pause = gpr_time_from_millis(absl::ToInt64Milliseconds(kOutOfMemoryPause), GPR_TIMESPAN);
    switch (queue_->AsyncNext(tag, ok, gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), pause))) {
      case grpc::CompletionQueue::GOT_EVENT:
        return true;
      case grpc::CompletionQueue::SHUTDOWN:
        return false;
      case grpc::CompletionQueue::TIMEOUT:
        PayOne();
    }
  }
  return queue_->Next(tag, ok);
}

}  // namespace vitrine
