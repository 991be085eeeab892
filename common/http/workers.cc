// SPDX-License-Identifier: Apache-2.0
#include "common/http/workers.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace vitrine {

HttpWorkers::HttpWorkers(Options options) : options_(std::move(options)) {}

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
    while (static_cast<int>(threads_.size()) < std::max(options_.threads, 2)) {
      threads_.emplace_back([this] { options_.on_thread != nullptr ? options_.on_thread([this] { Run(); }) : Run(); });
    }
  } catch (const std::system_error&) {
    return absl::UnavailableError("the system allows the process no more threads");
  }
  return absl::OkStatus();
}

void HttpWorkers::Do(bool on_a_body, std::function<void()> work) {
  MutexLock lock(mutex_);
  std::deque<Work>& queue = on_a_body ? on_bodies_ : others_;
  if (queue.size() >= options_.most) return;  // `work` is destroyed after the lock is released
  queue.push_back(std::move(work));
  work_.NotifyOne();
}

void HttpWorkers::Run() {
  pthread_setname_np(pthread_self(), options_.name.c_str());
  if (options_.niceness != 0) (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
  for (;;) {
    bool on_a_body = false;
    Work work = Next(on_a_body);
    if (work == nullptr) return;
    try {
      work();
    } catch (const std::exception&) {  // an exception of a library; the destroyed reply sends 503
    }
    work = nullptr;  // destroyed before the thread counts as free
    if (!on_a_body) continue;
    MutexLock lock(mutex_);
    --busy_with_bodies_;
    work_.NotifyOne();
  }
}

HttpWorkers::Work HttpWorkers::Next(bool& on_a_body) {
  MutexLock lock(mutex_);
  for (;;) {
    on_a_body = !on_bodies_.empty() && (others_.empty() || !was_a_body_) &&
                busy_with_bodies_ < std::max(options_.threads, 2) - 1;
    std::deque<Work>& queue = on_a_body ? on_bodies_ : others_;
    if (!queue.empty()) {
      Work next = std::move(queue.front());
      queue.pop_front();
      was_a_body_ = on_a_body;
      busy_with_bodies_ += on_a_body ? 1 : 0;
      return next;
    }
    if (ending_ && on_bodies_.empty() && others_.empty()) return nullptr;
    work_.Wait(mutex_);
  }
}

}  // namespace vitrine
