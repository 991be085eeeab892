// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_SHARED_ROOM_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_SHARED_ROOM_H_

#include <cstdint>
#include <string>
#include <unordered_map>

namespace vitrine {

// Places (requests, or bytes) that callers take out of a limited number, with dynamic thresholds (Choudhury and Hahne
// 1998): where callers share, each may hold at most kFree times what is free. One of them alone so gets eight ninths, n
// greedy ones equal parts, and whoever comes next always finds something free. Not thread-safe.
class SharedRoom {
 public:
  static constexpr int64_t kFree = 8;

  enum class Verdict { kFits, kFull, kOverShare };
  // `shared` false: one caller is all there is, and may take everything.
  Verdict Check(const std::string& caller, int64_t amount, int64_t limit, bool shared) const;
  void Take(const std::string& caller, int64_t amount);  // nothing is taken if it throws std::bad_alloc
  void Give(const std::string& caller, int64_t amount);  // what was taken before

  int64_t held() const { return held_; }

 private:
  int64_t held_ = 0;
  // None that holds nothing. Of the standard library, whose maps are whole after std::bad_alloc; Abseil's are not.
  std::unordered_map<std::string, int64_t> callers_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_SHARED_ROOM_H_
