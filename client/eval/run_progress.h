// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_PROGRESS_H_
#define VITRINE_CLIENT_EVAL_RUN_PROGRESS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "client/eval/prediction.h"
#include "report/progress_display.h"

namespace vitrine {

// How an evaluation goes, in one line: how far, how fast, how long yet, how right so far, and what went wrong.
class RunProgress {
 public:
  // `pictures` are to be known in the end. `display` must outlive this object.
  // From the first drawing to DrawEnd the line is drawn anew when it is due, even if nobody calls: nobody else may draw
  // on `display` until this object is gone.
  RunProgress(ProgressDisplay& display, int64_t pictures);

  // A picture is known: `again` if a former session knew it already.
  void Count(const Prediction& prediction, bool again);
  int64_t known() const { return known_; }
  int64_t asked() const { return asked_; }  // of these, by this session
  // Draws, if it is time to, which it is not in the first second. `in_flight` requests may be with the server at a
  // time.
  void Draw(int in_flight, absl::Time now);
  // Draws how it ended.
  void DrawEnd(int in_flight, absl::Time now);
  // The same while nothing is asked, with the reason.
  void DrawWaiting(const std::string& why, absl::Time now);
  void Line(const std::string& text);

  // "4,210 of 10,000  42 %  812 pictures/s  7s left  top-1 78.90 %  32 in flight  2 refused"
  std::string Text(int in_flight, absl::Time now);

 private:
  // Both with the mutex held, or waiting for it.
  void Redraw(absl::Time now);
  void Tick(const std::stop_token& end);
  double Rate(absl::Time now);
  std::string Counts() const;
  double Share() const;

  ProgressDisplay& display_;
  const int64_t pictures_;
  int64_t known_ = 0, answered_ = 0, correct_ = 0, refused_ = 0, unreadable_ = 0, unlabelled_ = 0;
  int64_t asked_ = 0;                                 // known by this session
  absl::Time begun_ = absl::InfiniteFuture();         // the first Draw
  std::deque<std::pair<absl::Time, int64_t>> marks_;  // when how many were asked, over the last seconds
  int in_flight_ = 0;                                 // of the last Draw
  std::string waiting_ = {};                          // why nothing is asked; empty: something is
  bool ended_ = false;
  std::mutex mutex_;  // of all that the ticker reads
  std::condition_variable_any tick_;
  std::jthread ticker_;  // the last member: it uses the others
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_PROGRESS_H_
