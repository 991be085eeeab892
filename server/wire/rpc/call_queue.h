// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALL_QUEUE_H_
#define VITRINE_SERVER_WIRE_RPC_CALL_QUEUE_H_

#include <grpcpp/completion_queue.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace vitrine {

struct CallParts;

// What a completion queue hands back when an operation has ended. The thread of the queue calls Complete once for each
// operation that was started with the tag; `ok` is what grpc::CompletionQueue::Next says of that operation.
class CompletionTag {
 public:
  // Must not throw: nobody else would end the call.
  virtual void Complete(bool ok) = 0;

 protected:
  ~CompletionTag() = default;
};

// A tag that calls a member function of its owner, which may delete the owner.
template <typename Owner>
class MemberTag final : public CompletionTag {
 public:
  MemberTag(Owner& owner, void (Owner::*member)(bool)) : owner_(owner), member_(member) {}
  void Complete(bool ok) override { (owner_.*member_)(ok); }

 private:
  Owner& owner_;
  void (Owner::*const member_)(bool);
};

// One completion queue and the thread that runs its events. Thread-safe but for Start and Close, which one owner calls,
// and Renew.
class CallQueue {
 public:
  // While `crowded` says that more comes than can be done, the thread does not interrupt who computes: where every core
  // is busy it reads what has come at the end of a slice, some milliseconds later, and not with a switch for every
  // request that is then refused (docs/concepts/scheduling.md, "What refusing costs"). Asked after every event, on the
  // thread.
  CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::function<bool()> crowded);
  ~CallQueue();

  // Starts the thread. Requires that the server is built.
  void Start();

  // Runs `post`, which asks gRPC for one more call, unless posting has stopped; then returns false. gRPC aborts the
  // process when a call is asked for on a queue that has been shut down, which is why every Request* passes here.
  bool Post(absl::FunctionRef<void(grpc::ServerCompletionQueue*)> post);

  // Makes a call of one kind and posts it.
  using Ask = void (*)(CallParts& parts, CallQueue& queue);
  // Asks for the call that takes the place of one that has come; if there is no memory for it, again until there is.
  // Never throws. On the queue's thread.
  void Renew(Ask ask, CallParts& parts);

  // Stops posting, shuts the queue down, runs what is left and joins the thread. Requires that the server is shut down
  // and that nobody starts another operation on this queue.
  void Close();

 private:
  // A kind of call of which fewer are posted than should be.
  struct Owed {
    Ask ask;
    CallParts* parts;
    int calls;
  };

  void Run();
  // The next event; pays what is owed while it waits. False once the queue is shut down and empty.
  bool Next(void** tag, bool* ok);
  void PayOne();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const std::function<bool()> crowded_;
  std::thread thread_;
  std::vector<Owed> owed_;  // touched by the queue's thread alone; has room for every kind of call

  Mutex mutex_;
  bool posting_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_QUEUE_H_
