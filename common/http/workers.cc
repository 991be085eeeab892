// SPDX-License-Identifier: Apache-2.0
#include "common/http/workers.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>

namespace vitrine {

Workers::~Workers() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    work_.NotifyAll();
  }
  for (std::thread& each : threads_) each.join();
}

absl::Status Workers::Start() {
  try {
    while (static_cast<int>(threads_.size()) < options_.threads) {
      threads_.emplace_back([this] { options_.on_thread != nullptr ? options_.on_thread([this] { Run(); }) : Run(); });
    }
  } catch (const std::system_error&) {
    return absl::UnavailableError("the system allows the process no more threads");
  }
  return absl::OkStatus();
}

// If the work is dropped, it is destroyed after the lock is released, because its destructor may call this object.
Workers::Result Workers::Do(const std::string& account, std::function<void()> work, bool on_a_body) {
  MutexLock lock(mutex_);
  Queue& queue = on_a_body ? on_bodies_ : others_;
  if (queue.size >= options_.most) return Result::kFull;
  const auto [own, is_new] = queue.waiting.try_emplace(account);
  if (is_new) {
    queue.turns.push_back(own);
  } else if (own->second.size() >= options_.most_per_account) {
    return Result::kAccountFull;
  }
  own->second.push_back(std::move(work));
  ++queue.size;
  work_.NotifyOne();
  return Result::kQueued;
}

void Workers::Run() {
  pthread_setname_np(pthread_self(), options_.name.c_str());
  if (options_.niceness != 0) (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
  for (;;) {
    bool on_a_body = false;
    Work work = Next(on_a_body);
    if (work == nullptr) return;
    try {
      work();
    } catch (const std::exception&) {  // thrown by a library; the reply sends 503 when `work` is destroyed
    }
    work = nullptr;  // destroyed before the thread counts as free
    if (!on_a_body) continue;
    MutexLock lock(mutex_);
    --busy_with_bodies_;
    work_.NotifyOne();
  }
}

Workers::Work Workers::Next(bool& on_a_body) {
  MutexLock lock(mutex_);
  for (;;) {
    on_a_body = !on_bodies_.turns.empty() && (others_.turns.empty() || !was_a_body_) &&
                busy_with_bodies_ < std::max(options_.threads - 1, 1);
    Queue& queue = on_a_body ? on_bodies_ : others_;
    if (!queue.turns.empty()) {
      const Accounts::iterator own = queue.turns.front();
      queue.turns.pop_front();
      Work next = std::move(own->second.front());
      own->second.pop_front();
      --queue.size;
      if (own->second.empty()) {
        queue.waiting.erase(own);
      } else {
        queue.turns.push_back(own);
      }
      was_a_body_ = on_a_body;
      busy_with_bodies_ += on_a_body ? 1 : 0;
      return next;
    }
    if (ending_ && on_bodies_.turns.empty()) return nullptr;
    work_.Wait(mutex_);
  }
}

}  // namespace vitrine
