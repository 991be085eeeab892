// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/call_queue.h"

#include "server/lifecycle/crash_stack.h"

namespace vitrine {

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue) : queue_(std::move(queue)) {}

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
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<CompletionTag*>(tag)->Complete(ok);
}

}  // namespace vitrine
