// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
#define VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_

#include <utility>

#include "absl/time/time.h"
#include "server/serve/request/ledger.h"

namespace vitrine {

// How long a request over HTTP may take that does not say when it needs its answer, and the longest that it may say.
inline constexpr absl::Duration kMaxHttpWait = absl::Seconds(60);

// Kept as HttpResponse::held until the answer was written, or nobody takes it. `Held` has the member `requests`, how
// many the service has counted as accepted, which are counted as answered in the end, and may keep more for so long.
template <typename Held>
class HeldAnswer {
 public:
  explicit HeldAnswer(Ledger& ledger) : ledger_(ledger) {}
  ~HeldAnswer() {
    for (int i = 0; i < held_.requests; ++i) ledger_.Answer();
  }
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;

  // Once, before the answer is handed over.
  void Hold(Held held) { held_ = std::move(held); }

 private:
  Ledger& ledger_;
  Held held_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
