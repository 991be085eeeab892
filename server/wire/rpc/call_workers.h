// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALL_WORKERS_H_
#define VITRINE_SERVER_WIRE_RPC_CALL_WORKERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"

namespace vitrine {

// Worker threads for calls that are too slow for a connection's thread and to which no request quota applies. Work is
// queued for an account, for example a caller's name. The threads serve the accounts in turn, so that an account with
// much work does not delay the others. Each account has its own queue limit. Thread-safe except Start.
class CallWorkers {
 public:
  struct Options {
    std::string name = "calls";  // thread name, at most 15 bytes
    int threads = 2;
    int niceness = 0;  // see setpriority(2)
    // Limits on queued work: in total, and per account.
    size_t most = 1024;
    size_t most_per_account = 32;
  };

  explicit CallWorkers(Options options) : options_(std::move(options)) {}
  // Waits until all accepted work is done.
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  // Starts the threads. Call once. UNAVAILABLE: a thread cannot be created.
  absl::Status Start();

  // Queues `work`, which must not throw, for one of the threads. RESOURCE_EXHAUSTED, with a retry delay: a limit on
  // queued work is reached.
  absl::Status Do(const std::string& account, std::function<void()> work);

 private:
  using Work = std::function<void()>;
  void Run();
  // Waits for work. Returns null if the destructor runs and the queue is empty.
  Work Next();

  const Options options_;

  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::deque<Work>> waiting_ ABSL_GUARDED_BY(mutex_);  // work of each account; no queue is empty
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);                    // accounts in the order of service
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_WORKERS_H_
