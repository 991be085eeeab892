// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/http/server.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// Pictures as they are, over HTTP: the body is a JPEG or PNG, the answer JSON. A bearer token comes in the header
// Authorization; access is that of the RPC beside the path. Thread-safe. The parts outlive the object.
//   POST /v1/models/NAME[/versions/V]:classify   vitrine.v1.Classifier/Classify
//   GET  /v1/models                              vitrine.v1.Registry/ListModels
class HttpClassifyFront {
 public:
  HttpClassifyFront(ClassifyService& service, Registry& registry, const Identity& identity)
      : service_(service), registry_(registry), identity_(identity) {}

  // Blocks until a classification is answered, which has a deadline.
  HttpResponse Serve(HttpRequest& request);

 private:
  struct Target;
  absl::StatusOr<HttpResponse> Route(HttpRequest& request);
  HttpResponse Classify(const Target& target, HttpRequest& request);
  // What is to be classified, once `caller` may; `call` gets the version that does it and the deadline.
  absl::StatusOr<v1::ClassifyRequest> Read(const Target& target, const absl::StatusOr<Caller>& caller,
                                           HttpRequest& request, CallContext& call);

  ClassifyService& service_;
  Registry& registry_;
  const Identity& identity_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
