// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_
#define VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace vitrine {

// Limits how long a server may be silent, and computes the waits between attempts. Thread-compatible.
class Patience {
 public:
  explicit Patience(absl::Duration most) : most_(most) {}

  // Records a result of an image, which ends the silence and resets the waits.
  void Progressed() {
    Answered();
    waits_ = 0;
  }
  // Records an answer of the server that is not the result of an image. Ends the silence, but keeps the waits.
  void Answered() { silent_ = absl::InfiniteFuture(); }
  // Records that an answer is missing. The silence starts now, unless it has already started.
  void Silent(absl::Time now) { silent_ = std::min(silent_, now); }

  // Returns the time left until the limit; negative after it.
  absl::Duration Left(absl::Time now) const { return silent_ + most_ - now; }
  bool waited() const { return waits_ > 0; }  // true if NextWait was called since the last result
  // Returns the wait before the next attempt: 0.2 s, doubled each time up to 5 s, and then reduced by up to half at
  // random.
  absl::Duration NextWait();

 private:
  const absl::Duration most_;
  absl::Time silent_ = absl::InfiniteFuture();  // start of the silence; InfiniteFuture: there is none
  int waits_ = 0;
  absl::BitGen random_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_
