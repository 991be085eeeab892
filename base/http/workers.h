// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_WORKERS_H_
#define VITRINE_BASE_HTTP_WORKERS_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace vitrine {

// A few threads for what may block. One of them takes no work on bodies, which is the heavy one, so that small requests
// are answered beside it. Thread-safe.
class HttpWorkers {
 public:
  // `niceness` as of setpriority(2); `on_thread` runs each thread, and like `out_of_memory` may be null.
  HttpWorkers(int threads, int niceness, std::function<void(const std::function<void()>&)> on_thread,
              std::function<void()> out_of_memory);
  // Ends what was given to them.
  ~HttpWorkers();
  HttpWorkers(const HttpWorkers&) = delete;
  HttpWorkers& operator=(const HttpWorkers&) = delete;

  // UNAVAILABLE if the system gives the process no thread more. Once.
  absl::Status Start();
  // May throw std::bad_alloc, and so may `work`, which is then given up.
  void Do(bool on_a_body, std::function<void()> work);

 private:
  using Work = std::function<void()>;
  void Run();
  // Null at the end.
  Work Next(bool& on_a_body);

  const int most_;
  const int niceness_;
  const std::function<void(const std::function<void()>&)> on_thread_;
  const std::function<void()> out_of_memory_;

  Mutex mutex_;
  CondVar work_;
  std::deque<Work> on_bodies_ ABSL_GUARDED_BY(mutex_);
  std::deque<Work> others_ ABSL_GUARDED_BY(mutex_);
  int busy_with_bodies_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_WORKERS_H_
