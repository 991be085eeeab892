// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/embeddings_front.h"

#include <string>

#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/held_answer.h"
#include "server/wire/http/refusal.h"
#include "server/wire/http/timeout.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/parse_json.h"

namespace vitrine {

// A request whose body has not arrived yet.
struct EmbeddingsFront::Pending {
  CallContext call = {};
};

HttpHandling EmbeddingsFront::Begin(const std::shared_ptr<HttpRequest>& request) {
  if (request->method() != "POST") return HttpHandling::Answer(MethodNotAllowed("POST", OpenAiErrorBody));
  const auto pending = std::make_shared<Pending>();
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Classifier/Classify", *request);
  pending->call = HttpCall(Method::kHttpInfer, caller, *request);
  if (!caller.ok()) {
    return AnswerAtOnce([&](std::shared_ptr<HttpReply> reply) { Submit(caller.status(), *pending, std::move(reply)); });
  }
  return HttpHandling::Read([this, pending](absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
    Submit(ReadBody(*pending, std::move(body)), *pending, std::move(reply));
  });
}

absl::StatusOr<EmbeddingsRequest> EmbeddingsFront::ReadBody(const Pending& pending, absl::StatusOr<std::string> body) {
  if (IsTooLarge(body.status())) return TooLargeEmbeddings(body.status());
  RETURN_IF_ERROR(body.status());
  BudgetShare parsed;
  ASSIGN_OR_RETURN(parsed, ReserveJson(parsed_, body->size()));
  ASSIGN_OR_RETURN(EmbeddingsRequest read, ReadEmbeddings(*body));
  read.infer.message.set_id(pending.call.request_id);
  return read;
}

void EmbeddingsFront::Submit(absl::StatusOr<EmbeddingsRequest> read, Pending& pending,
                             std::shared_ptr<HttpReply> reply) {
  const bool wants_base64 = read.ok() && read->wants_base64;
  absl::StatusOr<ReceivedInfer> message =
      read.ok() ? absl::StatusOr<ReceivedInfer>(std::move(read->infer)) : absl::StatusOr<ReceivedInfer>(read.status());
  auto held = std::make_shared<AnswerResources>(service_.ledger());
  pending.call.held = held;
  pending.call.deadline = service_.clock().Now() + kHttpTimeout;
  pending.call.form.scale = kJsonScale;
  Infer(service_, std::move(message), std::move(pending.call),
        [held = std::move(held), reply = std::move(reply),
         wants_base64](const absl::StatusOr<inference::ModelInferResponse>& answer) mutable {
          SendHeld(*reply, std::move(held), [&] {
            return answer.ok() ? HttpResponse{.body = WriteEmbeddings(*answer, wants_base64)}
                               : Refusal(answer.status(), OpenAiErrorBody);
          });
        });
}

}  // namespace vitrine
