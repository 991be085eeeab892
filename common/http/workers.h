// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_WORKERS_H_
#define VITRINE_COMMON_HTTP_WORKERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"

namespace vitrine {

// Threads for work that takes too long for a connection's thread. Work is queued for an account, for example a client's
// network. The threads serve the accounts in turn, so that an account with much work does not delay the others. Work on
// request bodies never uses all threads at once (unless there is only one thread): one thread remains for other work,
// so that large requests do not delay small ones. Thread-safe except Start.
class Workers {
 public:
  struct Options {
    std::string name = "http-worker";  // thread name, at most 15 bytes
    int threads = 2;
    int niceness = 0;  // see setpriority(2)
    // Limits on queued work, counted separately for work on bodies and other work: in total, and per account.
    size_t most = SIZE_MAX;
    size_t most_per_account = SIZE_MAX;
    // Called on each thread. Must call its argument, which does the thread's work and returns when the thread ends. May
    // be null.
    std::function<void(const std::function<void()>&)> on_thread = {};
  };
  enum class Result {
    kQueued,
    kFull,         // dropped: the limit on all work is reached
    kAccountFull,  // dropped: the account's limit is reached
  };

  explicit Workers(Options options) : options_(std::move(options)) {}
  // Waits until all queued work is done and the threads have ended.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts the threads. Call once. UNAVAILABLE if no thread can be created.
  absl::Status Start();
  // Queues `work` for one of the threads, or destroys it. An exception that `work` throws is dropped.
  Result Do(const std::string& account, std::function<void()> work, bool on_a_body = false);

 private:
  using Work = std::function<void()>;
  using Accounts = std::map<std::string, std::list<Work>>;
  struct Queue {
    Accounts waiting;                      // work of each account; no list is empty
    std::deque<Accounts::iterator> turns;  // accounts in the order of service
    size_t size = 0;
  };

  void Run();
  // Waits for work. Returns null when the destructor is running and the queues are empty.
  Work Next(bool& on_a_body);

  const Options options_;

  Mutex mutex_;
  CondVar work_;
  Queue on_bodies_ ABSL_GUARDED_BY(mutex_);
  Queue others_ ABSL_GUARDED_BY(mutex_);
  bool was_a_body_ ABSL_GUARDED_BY(mutex_) = false;  // true: the last work was on a body, so other waiting work is next
  int busy_with_bodies_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_WORKERS_H_
