// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_MUTEX_H_
#define VITRINE_COMMON_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace vitrine {

#ifdef __SANITIZE_THREAD__
// A std::mutex that calls pthread_mutex_destroy. Otherwise ThreadSanitizer would take a new mutex at the same address
// for the old one, and report lock cycles between objects that never existed at the same time.
class NativeMutex : public std::mutex {
 public:
  ~NativeMutex() { pthread_mutex_destroy(native_handle()); }
};
#else
using NativeMutex = std::mutex;
#endif

// std::mutex with Clang's thread-safety annotations.
//
// server/ and common/http do not use absl::Mutex, for two reasons. First, its timed waits follow the wall clock:
// setting the clock back by an hour would stop the server's sweeper thread for an hour. Second, Debian's build of
// Abseil is not instrumented, so ThreadSanitizer would not see the synchronization of absl::Mutex.
class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  NativeMutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  // Adopts a mutex that the caller has already locked, for example by TryLock.
  MutexLock(Mutex& mutex, std::adopt_lock_t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) : mutex_(mutex) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. Waits may end spuriously, so callers must check their condition in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Waits for at most `timeout`, measured by the steady clock. A timeout of more than an hour means no limit.
  void WaitFor(Mutex& mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (timeout > absl::Hours(1)) return Wait(mutex);
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(lock, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout));
    lock.release();
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_MUTEX_H_
