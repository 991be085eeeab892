// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
#define VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_

#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/http/exchange.h"
#include "server/serve/request/ledger.h"

namespace vitrine {

// The answer to come to a request that was handed to the service. Whoever waits for it keeps it; once it is sent it is
// HttpResponse::held, until the answer was written, or nobody takes it. `Held` has the member `requests`, how many the
// service has counted as accepted, which are counted as answered in the end, and may keep more for so long.
template <typename Held>
class HeldAnswer : public std::enable_shared_from_this<HeldAnswer<Held>> {
 public:
  HeldAnswer(Ledger& ledger, std::shared_ptr<HttpReply> reply) : ledger_(ledger), reply_(std::move(reply)) {}
  ~HeldAnswer() {
    for (int i = 0; i < held_.requests; ++i) ledger_.Answer();
  }
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;

  // Once: as HttpReply::Send.
  void Send(Held held, absl::FunctionRef<HttpResponse()> make) {
    held_ = std::move(held);
    const std::shared_ptr<HttpReply> reply = std::move(reply_);
    reply->Send([&] {
      HttpResponse response = make();
      response.held = this->shared_from_this();
      return response;
    });
  }

 private:
  Ledger& ledger_;
  std::shared_ptr<HttpReply> reply_;  // until it is sent
  Held held_;
};

// The body is not read: what `submit` sends before it returns is the answer, as refusals are.
inline HttpNext AnswerAtOnce(absl::FunctionRef<void(std::shared_ptr<HttpReply>)> submit) {
  class ReplyAtOnce final : public HttpReply {
   public:
    void Send(absl::FunctionRef<HttpResponse()> make) override { response = make(); }
    HttpResponse response;
  };
  const auto reply = std::make_shared<ReplyAtOnce>();
  submit(reply);
  return HttpNext::Answer(std::move(reply->response));
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
