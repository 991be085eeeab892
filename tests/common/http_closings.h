// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_HTTP_CLOSINGS_H_
#define VITRINE_TESTS_COMMON_HTTP_CLOSINGS_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "common/http/server.h"

namespace vitrine {

// Collects the reasons of closed connections and of streams that the server cut off.
class Closings final : public HttpObserver {
 public:
  void OnClosed(CloseReason reason) override { Add(reason); }
  void OnRefused(CloseReason reason) override { Add(reason); }
  void OnStreamCutOff(StreamCutOff reason, const std::string&) override { Add(reason); }
  // Waits up to five seconds until a connection is closed, or a stream is cut off, for this reason.
  bool Await(const std::string& reason) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(5),
                             [&] { return std::find(reasons_.begin(), reasons_.end(), reason) != reasons_.end(); });
  }

 private:
  template <typename Reason>
  void Add(Reason reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    reasons_.emplace_back(CloseReasonName(reason));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> reasons_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_HTTP_CLOSINGS_H_
