// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_WORKERS_H_
#define VITRINE_COMMON_HTTP_WORKERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"

namespace vitrine {

// Threads for blocking work. Work on request bodies never uses all threads at once: one thread remains for other work,
// so that large requests do not delay small ones. Thread-safe.
class HttpWorkers {
 public:
  struct Options {
    std::string name = "http-worker";  // thread name, at most 15 bytes
    int threads = 2;                   // at least 2 are started
    int niceness = 0;                  // see setpriority(2)
    // maximum length of each queue; work beyond this length is dropped, and the client gets 503
    size_t most = SIZE_MAX;
    // Called on each thread. Must call its argument, which does the thread's work and returns when the thread ends. May
    // be null.
    std::function<void(const std::function<void()>&)> on_thread = {};
  };

  explicit HttpWorkers(Options options);
  // Waits until all queued work is done and the threads have ended.
  ~HttpWorkers();
  HttpWorkers(const HttpWorkers&) = delete;
  HttpWorkers& operator=(const HttpWorkers&) = delete;

  // Starts the threads. Call once. UNAVAILABLE if no thread can be created.
  absl::Status Start();
  void Do(bool on_a_body, std::function<void()> work);

 private:
  using Work = std::function<void()>;
  void Run();
  // Waits for work. Returns null when the destructor is running and the queues are empty.
  Work Next(bool& on_a_body);

  const Options options_;

  Mutex mutex_;
  CondVar work_;
  std::deque<Work> on_bodies_ ABSL_GUARDED_BY(mutex_);
  std::deque<Work> others_ ABSL_GUARDED_BY(mutex_);
  bool was_a_body_ ABSL_GUARDED_BY(mutex_) = false;  // true: the last work was on a body; the kinds take turns
  int busy_with_bodies_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_WORKERS_H_
