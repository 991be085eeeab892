// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/embeddings_front.h"

#include <string>

#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/observe/request_id.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/held_answer.h"
#include "server/wire/http/refusal.h"
#include "server/wire/http/timeout.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/json_body.h"

namespace vitrine {

// A request whose body has not arrived yet.
struct EmbeddingsFront::Asked {
  CallContext call = {};
  std::string request_id = {};
};

HttpHandling EmbeddingsFront::Begin(const std::shared_ptr<HttpRequest>& request) {
  if (request->method() != "POST") return HttpHandling::Answer(MethodNotAllowed("POST", OpenAiErrorBody));
  const auto asked = std::make_shared<Asked>();
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Classifier/Classify", *request);
  asked->call = HttpCall(Method::kHttpInfer, caller, *request);
  asked->request_id = RequestIdOf(*request).value_or("");
  if (!caller.ok()) {
    return AnswerAtOnce([&](std::shared_ptr<HttpReply> reply) { Submit(caller.status(), *asked, std::move(reply)); });
  }
  return HttpHandling::Read([this, asked](absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
    Submit(ReadBody(*asked, std::move(body)), *asked, std::move(reply));
  });
}

absl::StatusOr<EmbeddingsRequest> EmbeddingsFront::ReadBody(const Asked& asked, absl::StatusOr<std::string> body) {
  if (IsTooLarge(body.status())) return TooLargeEmbeddings(body.status());
  RETURN_IF_ERROR(body.status());
  BudgetShare parsed;
  ASSIGN_OR_RETURN(parsed, ReserveJson(parsed_, body->size()));
  ASSIGN_OR_RETURN(EmbeddingsRequest read, ReadEmbeddings(*body));
  read.infer.message.set_id(asked.request_id);
  return read;
}

void EmbeddingsFront::Submit(absl::StatusOr<EmbeddingsRequest> read, Asked& asked, std::shared_ptr<HttpReply> reply) {
  const bool wants_base64 = read.ok() && read->wants_base64;
  absl::StatusOr<ReceivedInfer> message =
      read.ok() ? absl::StatusOr<ReceivedInfer>(std::move(read->infer)) : absl::StatusOr<ReceivedInfer>(read.status());
  auto held = std::make_shared<AnswerResources>(service_.ledger());
  asked.call.held = held;
  asked.call.deadline = service_.clock().Now() + kHttpTimeout;
  asked.call.form.scale = kJsonScale;
  Infer(service_, std::move(message), std::move(asked.call),
        [held = std::move(held), reply = std::move(reply),
         wants_base64](const absl::StatusOr<inference::ModelInferResponse>& answer) mutable {
          SendHeld(*reply, std::move(held), [&] {
            return answer.ok() ? HttpResponse{.body = WriteEmbeddings(*answer, wants_base64)}
                               : Refusal(answer.status(), OpenAiErrorBody);
          });
        });
}

}  // namespace vitrine
