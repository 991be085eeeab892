// SPDX-License-Identifier: Apache-2.0
#include "base/http/workers.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace vitrine {

HttpWorkers::HttpWorkers(int threads, int niceness, std::function<void(const std::function<void()>&)> on_thread,
                         std::function<void()> out_of_memory)
    : most_(std::max(threads, 2)),
      niceness_(niceness),
      on_thread_(std::move(on_thread)),
      out_of_memory_(std::move(out_of_memory)) {}

HttpWorkers::~HttpWorkers() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    work_.NotifyAll();
  }
  for (std::thread& each : threads_) each.join();
}

absl::Status HttpWorkers::Start() {
  try {
    threads_.reserve(static_cast<size_t>(most_));
    while (static_cast<int>(threads_.size()) < most_) {
      threads_.emplace_back([this] { on_thread_ != nullptr ? on_thread_([this] { Run(); }) : Run(); });
    }
  } catch (const std::system_error&) {
    if (threads_.size() < 2) return absl::UnavailableError("the system gives the process no thread more");
  }
  return absl::OkStatus();
}

void HttpWorkers::Do(bool on_a_body, std::function<void()> work) {
  MutexLock lock(mutex_);
  (on_a_body ? on_bodies_ : others_).push_back(std::move(work));
  work_.NotifyOne();
}

void HttpWorkers::Run() {
  pthread_setname_np(pthread_self(), "http-worker");
  if (niceness_ != 0) (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness_);
  for (;;) {
    bool on_a_body = false;
    Work work = Next(on_a_body);
    if (work == nullptr) return;
    try {
      work();
    } catch (const std::bad_alloc&) {
      if (out_of_memory_ != nullptr) out_of_memory_();
    } catch (const std::exception&) {  // nothing known throws; the client of a reply that is dropped reads 503
    }
    work = nullptr;  // what it held goes before the thread counts as free
    if (!on_a_body) continue;
    MutexLock lock(mutex_);
    --busy_with_bodies_;
    work_.NotifyOne();
  }
}

HttpWorkers::Work HttpWorkers::Next(bool& on_a_body) {
  MutexLock lock(mutex_);
  for (;;) {
    on_a_body = others_.empty() && busy_with_bodies_ < most_ - 1;
    std::deque<Work>& queue = on_a_body ? on_bodies_ : others_;
    if (!queue.empty()) {
      Work next = std::move(queue.front());
      queue.pop_front();
      busy_with_bodies_ += on_a_body ? 1 : 0;
      return next;
    }
    if (ending_ && on_bodies_.empty() && others_.empty()) return nullptr;
    work_.Wait(mutex_);
  }
}

}  // namespace vitrine
