// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_LONG_CALLS_H_
#define VITRINE_SERVER_WIRE_RPC_LONG_CALLS_H_

#include <memory>
#include <set>
#include <vector>

#include "base/mutex.h"

namespace vitrine {

// A call that lasts until its client ends it.
class LongCall {
 public:
  virtual ~LongCall() = default;
  // Ends the call from the server's side as soon as nothing of it is in flight. Any thread.
  virtual void Close() = 0;
};

// The long calls that are open, so that draining can end them. Thread-safe.
class LongCalls {
 public:
  // After CloseAll the call is closed at once.
  void Add(const std::shared_ptr<LongCall>& call) {
    {
      MutexLock lock(mutex_);
      if (!closed_) {
        open_.insert(call);
        return;
      }
    }
    call->Close();
  }
  void Remove(const std::shared_ptr<LongCall>& call) {
    MutexLock lock(mutex_);
    open_.erase(call);
  }
  void CloseAll() {
    std::vector<std::shared_ptr<LongCall>> open;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      open.assign(open_.begin(), open_.end());
    }
    for (const std::shared_ptr<LongCall>& call : open) call->Close();
  }

  size_t open() const {
    MutexLock lock(mutex_);
    return open_.size();
  }

 private:
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<LongCall>> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_LONG_CALLS_H_
