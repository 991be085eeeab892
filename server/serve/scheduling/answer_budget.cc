// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/answer_budget.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

constexpr double kStayWeight = 0.2;                      // weight of a new observation
constexpr absl::Duration kFirstStay = absl::Seconds(1);  // estimate until the first answer was read

}  // namespace

absl::StatusOr<HeldRoom> AnswerBudget::Reserve(int64_t bytes) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (reserved_ > 0 && bytes > limit_ - reserved_) {
    // Little's law: if the mean time until bytes are released is `stay`, the rate of release is `reserved_` / `stay`.
    const absl::Duration stay = mean_stay_ > absl::ZeroDuration() ? mean_stay_ : kFirstStay;
    const double excess = static_cast<double>(bytes - (limit_ - reserved_));
    return ShedError(ShedReason::kAnswers,
                     absl::StrCat("clients have not yet read ", reserved_, " bytes of answers; ", bytes,
                                  " more would exceed the server's limit of ", limit_),
                     stay * std::min(1.0, excess / static_cast<double>(reserved_)));
  }
  reserved_ += bytes;
  return HeldRoom(this, {.bytes = bytes, .since = now});
}

void AnswerBudget::Resize(HeldRoom& room, int64_t bytes) {
  AnswerBudget* const budget = room.owner();
  if (budget == nullptr) return;
  MutexLock lock(budget->mutex_);
  budget->reserved_ += bytes - std::exchange(room.share().bytes, bytes);
}

int64_t AnswerBudget::reserved() const {
  MutexLock lock(mutex_);
  return reserved_;
}

void AnswerBudget::Release(const AnswerRoom& room) {
  const absl::Duration stay = clock_.Now() - room.since;
  MutexLock lock(mutex_);
  reserved_ -= room.bytes;
  mean_stay_ = mean_stay_ == absl::ZeroDuration() ? stay : mean_stay_ + kStayWeight * (stay - mean_stay_);
}

void AnswerBudget::Cancel(const AnswerRoom& room) {
  MutexLock lock(mutex_);
  reserved_ -= room.bytes;
}

}  // namespace vitrine
