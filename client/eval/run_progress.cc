#include "client/eval/run_progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/data_table.h"

namespace vitrine {
namespace {

// The rate is that of so long.
constexpr absl::Duration kMemory = absl::Seconds(15);

}  // namespace

void RunProgress::Count(const Prediction& prediction, bool again) {
  ++known_;
  if (!again) ++asked_;
  switch (prediction.outcome) {
    case Outcome::kAnswered:
      ++answered_;
      correct_ += prediction.correct() ? 1 : 0;
      break;
    case Outcome::kRefused:
      ++refused_;
      break;
    case Outcome::kUnreadable:
      ++unreadable_;
      break;
    case Outcome::kUnlabelled:
      ++unlabelled_;
      break;
  }
}

void RunProgress::Draw(int in_flight, absl::Time now) {
  if (display_.Due(now)) display_.Update(Share(), Text(in_flight, now), now);
}

void RunProgress::DrawEnd(int in_flight, absl::Time now) {
  display_.Hurry();
  Draw(in_flight, now);
}

void RunProgress::DrawWaiting(const std::string& why, absl::Time now) {
  if (display_.Due(now)) display_.Update(Share(), absl::StrCat(Counts(), "  ", why), now);
}

std::string RunProgress::Text(int in_flight, absl::Time now) {
  std::string text = Counts();
  if (const double rate = Rate(now); rate > 0) {
    const auto left = absl::Seconds(static_cast<double>(pictures_ - known_) / rate);
    absl::StrAppend(&text, "  ", absl::StrFormat(rate < 10 ? "%.1f" : "%.0f", rate), " pictures/s  ",
                    absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))), " left");
  }
  if (answered_ > 0) {
    absl::StrAppendFormat(&text, "  top-1 %.2f %%",
                          100 * static_cast<double>(correct_) / static_cast<double>(answered_));
  }
  absl::StrAppend(&text, "  ", in_flight, " in flight");
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
  return absl::StrCat(WithSeparators(known_), " of ", WithSeparators(pictures_), "  ",
                      absl::StrFormat("%.0f %%", 100 * Share()));
}

double RunProgress::Share() const {
  return pictures_ == 0 ? 1 : static_cast<double>(known_) / static_cast<double>(pictures_);
}

}  // namespace vitrine
