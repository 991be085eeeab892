// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SERVE_SCHEDULING_IDLE_EXECUTORS_H_
#define VITRINE_TESTS_SERVER_SERVE_SCHEDULING_IDLE_EXECUTORS_H_

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Runs executors that wait for batches. An executor that is sent to a team joins the team, which computes one batch
// together.
class IdleExecutors {
 public:
  IdleExecutors(Scheduler& scheduler, int count) : scheduler_(scheduler) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (std::optional<Batch> batch = scheduler_.NextBatch()) {
          if (batch->team != nullptr) {
            ++sent_;
            batch->team->Join();
          }
          for (const auto& request : batch->requests) request->Finish(v1::ClassifyResponse());
        }
      });
    }
    AwaitIdle(count);
  }
  ~IdleExecutors() {
    scheduler_.Stop(absl::ZeroDuration());
    for (std::thread& thread : threads_) thread.join();
  }
  void AwaitIdle(int64_t count) const {
    while (scheduler_.idle() != count) std::this_thread::yield();
  }
  // Returns how often an executor was sent to a team.
  int sent() const { return sent_; }

 private:
  Scheduler& scheduler_;
  std::atomic<int> sent_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_SERVE_SCHEDULING_IDLE_EXECUTORS_H_
