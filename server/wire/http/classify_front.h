// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/http/exchange.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// Pictures as they are, over HTTP: the body is a JPEG, PNG or WebP, the answer JSON. A bearer token comes in the header
// Authorization; access is that of the RPC beside the path. Thread-safe. The parts outlive the object.
//   POST /v1/models/NAME[/versions/V]:classify   vitrine.v1.Classifier/Classify
//   GET  /v1/models                              vitrine.v1.Registry/ListModels
//   GET  /v1/models/NAME[/versions/V]            vitrine.v1.Registry/GetModel
class HttpClassifyFront {
 public:
  HttpClassifyFront(ClassifyService& service, Registry& registry, const Identity& identity)
      : service_(service), registry_(registry), identity_(identity) {}

  // What can be refused without the body is refused at once. A classification is cancelled when its client hangs up.
  HttpNext Begin(const std::shared_ptr<HttpRequest>& request);

 private:
  struct Target;
  struct Asked;
  absl::StatusOr<HttpNext> Route(const std::shared_ptr<HttpRequest>& request);
  // What a version can be asked for: see ModelJson.
  absl::StatusOr<HttpNext> Describe(const Target& target, const HttpRequest& request);
  HttpNext Classify(const Target& target, const std::shared_ptr<HttpRequest>& request);
  // What is asked for, once `caller` may.
  absl::Status ReadHead(const Target& target, const absl::StatusOr<Caller>& caller, const HttpRequest& request,
                        Asked& asked) const;
  // To the service, which counts what was refused before as well; that is sent before this returns.
  void Submit(absl::StatusOr<ReceivedClassify> message, Asked& asked, std::shared_ptr<HttpReply> reply);

  ClassifyService& service_;
  Registry& registry_;
  const Identity& identity_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
