// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_FRONT_H_
#define VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_FRONT_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/http/byte_budget.h"
#include "common/http/exchange.h"
#include "server/identity/identity.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/oip/embeddings_body.h"

namespace vitrine {

// POST /v1/embeddings for OpenAI's clients (see ReadEmbeddings). A bearer token is in the header Authorization; the
// caller needs the right to call vitrine.v1.Classifier/Classify. Thread-safe. The arguments must outlive the object.
class EmbeddingsFront {
 public:
  // `parsed`: budget of JSON bytes that are parsed at the same time.
  EmbeddingsFront(ClassifyService& service, const Identity& identity, std::shared_ptr<ByteBudget> parsed)
      : service_(service), identity_(identity), parsed_(std::move(parsed)) {}

  // Begins the answer. Cancels the request when its client disconnects.
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request);

 private:
  struct Pending;
  absl::StatusOr<EmbeddingsRequest> ReadBody(const Pending& pending, absl::StatusOr<std::string> body);
  // Passes the request, or its rejection, to the service, which counts both. A rejection is sent before Submit returns.
  void Submit(absl::StatusOr<EmbeddingsRequest> read, Pending& pending, std::shared_ptr<HttpReply> reply);

  ClassifyService& service_;
  const Identity& identity_;
  const std::shared_ptr<ByteBudget> parsed_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_FRONT_H_
