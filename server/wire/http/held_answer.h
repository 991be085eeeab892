// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
#define VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/http/exchange.h"
#include "server/serve/request/answer_hold.h"

namespace vitrine {

// Bytes of JSON for each byte of the values in it, about: numbers are written with up to twelve digits.
inline constexpr int kJsonScale = 3;

// Sends what `make` returns. `held` knows its size from then on, and lives until the client has taken it or is gone.
inline void SendHeld(HttpReply& reply, std::shared_ptr<AnswerHold> held, absl::FunctionRef<HttpResponse()> make) {
  reply.Send([&] {
    HttpResponse response = make();
    held->SetBytes(static_cast<int64_t>(response.body.size()));
    response.held = AnswerHold::UntilSent(std::move(held));
    return response;
  });
}

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
