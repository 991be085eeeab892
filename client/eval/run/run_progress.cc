// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/run_progress.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/html/data_table.h"

namespace vitrine {
namespace {

// Period over which the displayed rate is computed.
constexpr absl::Duration kMemory = absl::Seconds(15);
constexpr std::chrono::milliseconds kTick(500);
constexpr absl::Duration kQuiet = absl::Seconds(1);

}  // namespace

void RunProgress::Count(const Prediction& prediction, bool again) {
  Count(prediction.outcome, 1, prediction.correct() ? 1 : 0, again);
}

void RunProgress::Count(Outcome outcome, int64_t images, std::optional<int64_t> correct, bool again) {
  const std::lock_guard lock(mutex_);
  known_ += images;
  if (!again) asked_ += images;
  switch (outcome) {
    case Outcome::kAnswered:
      judged_ += correct.has_value() ? images : 0;
      correct_ += correct.value_or(0);
      break;
    case Outcome::kRefused:
      refused_ += images;
      break;
    case Outcome::kUnreadable:
      unreadable_ += images;
      break;
    case Outcome::kUnlabelled:
      unlabelled_ += images;
      break;
  }
}

RunProgress::RunProgress(ProgressDisplay& display, int64_t images)
    : display_(display), images_(images), ticker_([this](const std::stop_token& end) { Tick(end); }) {}

void RunProgress::Draw(int in_flight, absl::Time now) {
  const std::lock_guard lock(mutex_);
  in_flight_ = in_flight;
  waiting_.clear();
  begun_ = std::min(begun_, now);
  Redraw(now);
}

void RunProgress::DrawEnd(int in_flight, absl::Time now) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  display_.Hurry();
  display_.Update(Share(), Text(in_flight, now), now);
}

void RunProgress::DrawWaiting(const std::string& why, absl::Time now) {
  const std::lock_guard lock(mutex_);
  waiting_ = why;
  Redraw(now);
}

void RunProgress::Line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  display_.Line(text);
}

void RunProgress::Redraw(absl::Time now) {
  if (ended_ || !display_.Due(now)) return;
  if (!waiting_.empty()) return display_.Update(Share(), absl::StrCat(Counts(), "  ", waiting_), now);
  // The rate of the first answers is not meaningful.
  if (now - begun_ >= kQuiet) display_.Update(Share(), Text(in_flight_, now), now);
}

void RunProgress::Tick(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!tick_.wait_for(lock, end, kTick, [&] { return end.stop_requested(); })) Redraw(absl::Now());
}

std::string RunProgress::Text(int in_flight, absl::Time now) {
  std::string text = Counts();
  if (const double rate = Rate(now); rate > 0) {
    const auto left = absl::Seconds(static_cast<double>(images_ - known_) / rate);
    absl::StrAppend(&text, "  ", absl::StrFormat("%.*f", rate < 10 ? 1 : 0, rate), " images/s  ",
                    absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))), " left");
  }
  if (judged_ > 0) {
    absl::StrAppendFormat(&text, "  top-1 %.2f %%", 100 * static_cast<double>(correct_) / static_cast<double>(judged_));
  }
  if (in_flight > 0) absl::StrAppend(&text, "  ", in_flight, " in flight");
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) absl::StrAppend(&text, "  ", WithSeparators(count), " ", what);
  };
  add(refused_, "refused");
  add(unreadable_, "unreadable");
  add(unlabelled_, "unlabelled");
  return text;
}

double RunProgress::Rate(absl::Time now) {
  marks_.push_back({now, asked_});
  while (marks_.size() > 2 && now - marks_.front().first > kMemory) marks_.pop_front();
  const auto& [since, before] = marks_.front();
  const double seconds = absl::ToDoubleSeconds(now - since);
  return seconds > 0 ? static_cast<double>(asked_ - before) / seconds : 0;
}

std::string RunProgress::Counts() const {
  return absl::StrCat(WithSeparators(known_), " of ", WithSeparators(images_), "  ",
                      absl::StrFormat("%.0f %%", 100 * Share()));
}

double RunProgress::Share() const {
  return images_ == 0 ? 1 : static_cast<double>(known_) / static_cast<double>(images_);
}

}  // namespace vitrine
