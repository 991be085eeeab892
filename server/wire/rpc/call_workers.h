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
#include "base/mutex.h"

namespace vitrine {

// Threads for work that takes longer than a connection's thread may be held up, and that no quota of requests covers.
// Accounts take turns, so that one with much work does not hold up the others; each may have so much waiting.
// Thread-safe but for Start.
class CallWorkers {
 public:
  struct Options {
    std::string name = "calls";  // of the threads; at most 15 bytes
    int threads = 2;
    int niceness = 0;  // see setpriority(2)
    // Work that waits for a thread: of all, and of one account.
    size_t most = 1024;
    size_t most_per_account = 32;
  };

  explicit CallWorkers(Options options) : options_(std::move(options)) {}
  // Finishes the work that was given.
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  // UNAVAILABLE if the system gives the process no more threads. Once.
  absl::Status Start();

  // Calls `work` on one of the threads; it must not throw. RESOURCE_EXHAUSTED, with advice when to come back, if too
  // much waits.
  absl::Status Do(const std::string& account, std::function<void()> work);

 private:
  using Work = std::function<void()>;
  void Run();
  // Null at the end.
  Work Next();

  const Options options_;

  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::deque<Work>> waiting_ ABSL_GUARDED_BY(mutex_);  // by account; none is empty
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);                    // the accounts of `waiting_`
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_WORKERS_H_
