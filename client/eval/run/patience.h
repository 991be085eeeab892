// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_
#define VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace vitrine {

// Time limit for a server that does not respond, and waits between attempts. Thread-compatible.
class Patience {
 public:
  explicit Patience(absl::Duration most) : most_(most) {}

  // Records a result of an image: ends the silence.
  void Progressed() {
    Answered();
    waits_ = 0;
  }
  // Records an answer of the server without a result of an image.
  void Answered() { silent_ = absl::InfiniteFuture(); }
  // Records that no answer came; the silence starts now unless it has already.
  void Silent(absl::Time now) { silent_ = std::min(silent_, now); }

  // Returns the remaining time of this silence; negative if it is over.
  absl::Duration Left(absl::Time now) const { return silent_ + most_ - now; }
  bool waited() const { return waits_ > 0; }  // since the last image became known
  // Returns the wait before the next attempt: 0.2 s, doubled each time up to 5 s, minus a random part of up to half.
  absl::Duration NextWait();

 private:
  const absl::Duration most_;
  absl::Time silent_ = absl::InfiniteFuture();  // start of the silence; InfiniteFuture: there is none
  int waits_ = 0;
  absl::BitGen random_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_PATIENCE_H_
