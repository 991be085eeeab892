// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_workers.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/process/crash_stack.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(200);

}  // namespace

CallWorkers::~CallWorkers() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& each : threads_) each.join();
}

absl::Status CallWorkers::Start() {
  try {
    while (static_cast<int>(threads_.size()) < options_.threads) threads_.emplace_back([this] { Run(); });
  } catch (const std::system_error&) {
    return absl::UnavailableError("the system allows the process no more threads");
  }
  return absl::OkStatus();
}

absl::Status CallWorkers::Do(const std::string& account, std::function<void()> work) {
  MutexLock lock(mutex_);
  if (size_ >= options_.most) {
    return ShedError(ShedReason::kRequests, absl::StrCat(size_, " calls already wait for a worker thread"), kRetry);
  }
  std::deque<Work>& own = waiting_[account];
  if (own.size() >= options_.most_per_account) {
    return ShedError(ShedReason::kQuota,
                     absl::StrCat("the caller already has ", own.size(), " calls that wait for a worker thread"),
                     kRetry);
  }
  if (own.empty()) turns_.push_back(account);
  own.push_back(std::move(work));
  ++size_;
  changed_.NotifyOne();
  return absl::OkStatus();
}

void CallWorkers::Run() {
  const CrashHandlerStack crash_stack;
  pthread_setname_np(pthread_self(), options_.name.c_str());
  if (options_.niceness != 0) (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
  while (const Work work = Next()) work();
}

CallWorkers::Work CallWorkers::Next() {
  MutexLock lock(mutex_);
  while (turns_.empty()) {
    if (ending_) return nullptr;
    changed_.Wait(mutex_);
  }
  const std::string account = std::move(turns_.front());
  turns_.pop_front();
  const auto own = waiting_.find(account);
  Work next = std::move(own->second.front());
  own->second.pop_front();
  --size_;
  if (own->second.empty()) {
    waiting_.erase(own);
  } else {
    turns_.push_back(account);
  }
  return next;
}

}  // namespace vitrine
