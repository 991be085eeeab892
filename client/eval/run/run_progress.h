// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_RUN_PROGRESS_H_
#define VITRINE_CLIENT_EVAL_RUN_RUN_PROGRESS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "client/eval/prediction.h"
#include "common/charts/progress_display.h"

namespace vitrine {

// Progress line of an evaluation or a scoring: count, rate, time left, accuracy and failures so far.
class RunProgress {
 public:
  // `images` is the total. `display` must outlive this object. From the first drawing until DrawEnd, a thread redraws
  // the line when a redraw is due. Until this object is destroyed, no other code may draw on `display`.
  RunProgress(ProgressDisplay& display, int64_t images);

  // Counts an image. `again`: an earlier session already had a result for this image.
  void Count(const Prediction& prediction, bool again);
  // Counts `images` images with the same outcome. `correct`: number of right answers; nullopt: unknown, without labels.
  void Count(Outcome outcome, int64_t images, std::optional<int64_t> correct, bool again);
  int64_t known() const { return known_; }
  int64_t asked() const { return asked_; }  // results of this session
  // Draws the line if it is due, but not in the first second. `in_flight` is the current limit of requests in flight;
  // 0: not shown.
  void Draw(int in_flight, absl::Time now);
  // Draws the final state.
  void DrawEnd(int in_flight, absl::Time now);
  // Shows `why` instead of rates while no request is sent.
  void DrawWaiting(const std::string& why, absl::Time now);
  void Line(const std::string& text);

  // Returns the progress line: "4,210 of 10,000  42 %  812 images/s  7s left  top-1 78.90 %  32 in flight  2 refused".
  std::string Text(int in_flight, absl::Time now);

 private:
  // Redraw requires mutex_; Tick locks it.
  void Redraw(absl::Time now);
  void Tick(const std::stop_token& end);
  double Rate(absl::Time now);
  std::string Counts() const;
  double Share() const;

  ProgressDisplay& display_;
  const int64_t images_;
  int64_t known_ = 0, judged_ = 0, correct_ = 0, refused_ = 0, unreadable_ = 0, unlabelled_ = 0;
  int64_t asked_ = 0;                                 // results in this session
  absl::Time begun_ = absl::InfiniteFuture();         // time of the first Draw
  std::deque<std::pair<absl::Time, int64_t>> marks_;  // time and number of results, over the last seconds
  int in_flight_ = 0;                                 // value of the last Draw
  std::string waiting_ = {};                          // why no request is sent; empty: requests are sent
  bool ended_ = false;
  std::mutex mutex_;  // guards everything that the ticker reads
  std::condition_variable_any tick_;
  std::jthread ticker_;  // last member, because it uses the other members
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_RUN_PROGRESS_H_
