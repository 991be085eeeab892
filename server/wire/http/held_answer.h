// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
#define VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/http/exchange.h"
#include "server/serve/request/answer_hold.h"

namespace vitrine {

// Approximate bytes of JSON per byte of a value: a four-byte number has up to twelve digits.
inline constexpr int kJsonScale = 3;

// Sends the response that `make` returns. Passes the size of the response's body to `held`, and releases `held` once
// the response was sent or the client has left.
inline void SendHeld(HttpReply& reply, std::shared_ptr<AnswerResources> held, absl::FunctionRef<HttpResponse()> make) {
  reply.Send([&] {
    HttpResponse response = make();
    held->SetBytes(static_cast<int64_t>(response.body.size()));
    response.held = AnswerResources::UntilSent(std::move(held));
    return response;
  });
}

// Answers with the response that `submit` sends, without reading the body. `submit` must send it before returning.
inline HttpHandling AnswerAtOnce(absl::FunctionRef<void(std::shared_ptr<HttpReply>)> submit) {
  class ReplyAtOnce final : public HttpReply {
   public:
    void Send(absl::FunctionRef<HttpResponse()> make) override { response = make(); }
    HttpResponse response;
  };
  const auto reply = std::make_shared<ReplyAtOnce>();
  submit(reply);
  return HttpHandling::Answer(std::move(reply->response));
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_HELD_ANSWER_H_
