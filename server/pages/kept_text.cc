// SPDX-License-Identifier: Apache-2.0
#include "server/pages/kept_text.h"

#include <algorithm>

namespace vitrine {
namespace {

// Texts that may be made at once after a quiet time: whoever looks before and after something sees the difference.
constexpr int kAtOnce = 8;

}  // namespace

std::string KeptText::Get() {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (due_ > now + (kAtOnce - 1) * period_) return text_;
  text_ = make_();
  due_ = std::max(due_, now) + period_;
  return text_;
}

}  // namespace vitrine
