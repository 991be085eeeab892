// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PATIENCE_H_
#define VITRINE_CLIENT_EVAL_PATIENCE_H_

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace vitrine {

// How long an evaluation goes on with a server of which nothing comes, and how long it waits between two attempts.
// Thread-compatible.
class Patience {
 public:
  explicit Patience(absl::Duration most) : most_(most) {}

  // A picture became known: what follows is a new silence.
  void Progressed() {
    Answered();
    waits_ = 0;
  }
  // The server answered, and no picture became known by that.
  void Answered() { silent_ = absl::InfiniteFuture(); }
  // Nothing came; the silence begins now unless it has begun.
  void Silent(absl::Time now) { silent_ = std::min(silent_, now); }

  // Of the patience with this silence; negative when it is over.
  absl::Duration Left(absl::Time now) const { return silent_ + most_ - now; }
  bool waited() const { return waits_ > 0; }  // since the last picture became known
  // Before the next attempt: 0.2 s, then twice as long each time up to 5 s, less up to half at random.
  absl::Duration NextWait();

 private:
  const absl::Duration most_;
  absl::Time silent_ = absl::InfiniteFuture();  // since when nothing came; future: it does
  int waits_ = 0;
  absl::BitGen random_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PATIENCE_H_
