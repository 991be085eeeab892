// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_
#define VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/http/byte_budget.h"
#include "base/http/exchange.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/oip/http_body.h"
#include "server/wire/oip/tensor_view.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// The Open Inference Protocol's REST form: what a path means and what answers it. A bearer token comes in the header
// Authorization; access is that of the RPC of the same name. Thread-safe. The parts outlive the object.
//   GET  /v2                                   ServerMetadata
//   GET  /v2/health/live, /v2/health/ready     ServerLive, ServerReady: 200, or 400 where it is not so
//   GET  /v2/models/NAME[/versions/V]          ModelMetadata; with /ready ModelReady, /config ModelConfig, /stats
//                                              ModelStatistics
//   POST /v2/models/NAME[/versions/V]/infer    ModelInfer
//   POST /v2/repository/index                  RepositoryIndex
class OipHttpFront {
 public:
  OipHttpFront(ClassifyService& service, Registry& registry, const Identity& identity, Health& health)
      : service_(service), registry_(registry), identity_(identity), health_(health) {}

  // What can be refused without the body is refused at once. An inference is cancelled when its client hangs up.
  HttpNext Begin(const std::shared_ptr<HttpRequest>& request);

  // Budget of the JSON that is read at once, for others who read some.
  const std::shared_ptr<ByteBudget>& parsed() const { return parsed_; }

  // Most bytes of JSON that are parsed at the same time; what comes beyond is told to come again.
  static constexpr int64_t kMaxParsedJsonBytes = int64_t{2 * kMaxJsonBytes};

 private:
  struct Target;
  struct Asked;
  absl::StatusOr<HttpNext> Route(const std::shared_ptr<HttpRequest>& request);
  absl::StatusOr<HttpResponse> ServeModel(const Target& target, const HttpRequest& request);
  absl::StatusOr<HttpResponse> ServeStatistics(const Target& target, const HttpRequest& request);
  absl::StatusOr<HttpResponse> ServeIndex(const Caller& caller, const absl::StatusOr<std::string>& body);
  absl::StatusOr<FoundModel> FindModel(RpcName rpc, const Target& target, const HttpRequest& request) const;
  HttpNext Infer(Target target, const std::shared_ptr<HttpRequest>& request);
  absl::Status ReadHead(const absl::StatusOr<Caller>& caller, const HttpRequest& request, Asked& asked) const;
  absl::StatusOr<HttpInferRequest> ReadBody(const Asked& asked, absl::StatusOr<std::string> body);
  // To the service, which counts what was refused before as well; that is sent before this returns.
  void Submit(absl::StatusOr<HttpInferRequest> read, Asked& asked, std::shared_ptr<HttpReply> reply);

  ClassifyService& service_;
  Registry& registry_;
  const Identity& identity_;
  Health& health_;
  // Bytes of JSON that are read at once: in memory they take many times their size.
  const std::shared_ptr<ByteBudget> parsed_ = std::make_shared<ByteBudget>(kMaxParsedJsonBytes);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_HTTP_FRONT_H_
