// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_
#define VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/http/byte_budget.h"
#include "common/http/exchange.h"
#include "server/identity/identity.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/oip/infer_body.h"
#include "server/wire/oip/tensor_view.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// Serves the Open Inference Protocol's REST form. A bearer token is in the header Authorization; each path needs the
// right to call the RPC on its line below. Thread-safe. The arguments must outlive the object.
//   GET  /v2                                   ServerMetadata
//   GET  /v2/health/live, /v2/health/ready     ServerLive: 200; ServerReady: 200, or 400 if not ready
//   GET  /v2/models/NAME[/versions/V]          ModelMetadata; with /ready ModelReady, /config ModelConfig, /stats
//                                              ModelStatistics
//   GET  /v2/models/stats                      ModelStatistics of all models
//   POST /v2/models/NAME[/versions/V]/infer    ModelInfer
//   POST /v2/repository/index                  RepositoryIndex
class OipHttpFront {
 public:
  OipHttpFront(ClassifyService& service, Registry& registry, const Identity& identity, Health& health)
      : service_(service), registry_(registry), identity_(identity), health_(health) {}

  // Begins the answer. Rejects a request before its body is read if path or model are invalid or the caller lacks the
  // permission. Cancels an inference when its client disconnects.
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request);

  // Returns the budget of JSON bytes that are parsed at the same time. Other handlers share this budget.
  const std::shared_ptr<ByteBudget>& parsed() const { return parsed_; }

  // Limit on JSON bytes that are parsed at the same time; further requests are rejected with a retry delay.
  static constexpr int64_t kMaxParsedJsonBytes = int64_t{2 * kMaxJsonBytes};

 private:
  struct Target;
  struct Pending;
  absl::StatusOr<HttpHandling> Route(const std::shared_ptr<HttpRequest>& request);
  absl::StatusOr<HttpResponse> ServeModel(const Target& target, const HttpRequest& request);
  absl::StatusOr<HttpResponse> ServeStatistics(const Target& target, const HttpRequest& request);
  absl::StatusOr<HttpResponse> ServeIndex(const Caller& caller, const absl::StatusOr<std::string>& body);
  absl::StatusOr<FoundModel> FindModel(RpcName rpc, const Target& target, const HttpRequest& request) const;
  HttpHandling Infer(Target target, const std::shared_ptr<HttpRequest>& request);
  absl::Status ReadHead(const absl::StatusOr<Caller>& caller, const HttpRequest& request, Pending& pending) const;
  absl::StatusOr<HttpInferRequest> ReadBody(const Pending& pending, absl::StatusOr<std::string> body);
  // Passes the request, or its rejection, to the service, which counts both. A rejection is sent before Submit returns.
  void Submit(absl::StatusOr<HttpInferRequest> read, Pending& pending, std::shared_ptr<HttpReply> reply);

  ClassifyService& service_;
  Registry& registry_;
  const Identity& identity_;
  Health& health_;
  // Limits the memory for parsed JSON, which takes many times the size of its text.
  const std::shared_ptr<ByteBudget> parsed_ = std::make_shared<ByteBudget>(kMaxParsedJsonBytes);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_
