// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_AWAITED_ANSWER_H_
#define VITRINE_SERVER_WIRE_HTTP_AWAITED_ANSWER_H_

#include <future>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/serve/request/ledger.h"

namespace vitrine {

// How long a request over HTTP may take that does not say when it needs its answer, and the longest that it may say.
inline constexpr absl::Duration kMaxHttpWait = absl::Seconds(60);

// A request on its way, for whose answer a thread waits; kept as HttpResponse::held until the answer was written.
// `Held` has the member `requests`, how many the service has counted as accepted, which are counted as answered in the
// end, and may keep more for so long.
template <typename Message, typename Held>
class AwaitedAnswer {
 public:
  explicit AwaitedAnswer(Ledger& ledger) : ledger_(ledger) {}
  ~AwaitedAnswer() {
    for (int i = 0; i < held_.requests; ++i) ledger_.Answer();
  }
  AwaitedAnswer(const AwaitedAnswer&) = delete;
  AwaitedAnswer& operator=(const AwaitedAnswer&) = delete;

  // Once, from any thread.
  void Finish(absl::StatusOr<Message> answer, Held held) {
    held_ = std::move(held);
    answer_.set_value(std::move(answer));
  }
  // Once.
  absl::StatusOr<Message> Await() { return answer_.get_future().get(); }

 private:
  Ledger& ledger_;
  Held held_;
  std::promise<absl::StatusOr<Message>> answer_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_AWAITED_ANSWER_H_
