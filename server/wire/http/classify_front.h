// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/http/exchange.h"
#include "server/identity/identity.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// Serves the classification of raw image files over HTTP: the body is a JPEG, PNG or WebP; the answer is JSON. A bearer
// token is in the header Authorization; each path needs the right to call the RPC on its line below. Thread-safe. The
// arguments must outlive the object.
//   POST /v1/models/NAME[/versions/V]:classify   vitrine.v1.Classifier/Classify
//   GET  /v1/models                              vitrine.v1.Registry/ListModels
//   GET  /v1/models/NAME[/versions/V]            vitrine.v1.Registry/GetModel
class HttpClassifyFront {
 public:
  HttpClassifyFront(ClassifyService& service, Registry& registry, const Identity& identity)
      : service_(service), registry_(registry), identity_(identity) {}

  // Begins the answer. Rejects a request before its body is read if path, query or model are invalid or the caller
  // lacks the permission. Cancels a classification when its client disconnects.
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request);

 private:
  struct Target;
  struct Pending;
  absl::StatusOr<HttpHandling> Route(const std::shared_ptr<HttpRequest>& request);
  // Answers a GET request for a version with the text of ModelJson.
  HttpHandling Describe(const Target& target, const HttpRequest& request);
  HttpHandling Classify(const Target& target, const std::shared_ptr<HttpRequest>& request);
  // Fills `pending` from the path, query and headers. Returns the error of `caller`; or an error if the caller may not
  // use the model, or if the request is invalid.
  absl::Status ReadHead(const Target& target, const absl::StatusOr<Caller>& caller, const HttpRequest& request,
                        Pending& pending) const;
  // Passes the request, or its rejection, to the service, which counts both. A rejection is sent before Submit returns.
  void Submit(absl::StatusOr<ReceivedClassify> message, Pending& pending, std::shared_ptr<HttpReply> reply);

  ClassifyService& service_;
  Registry& registry_;
  const Identity& identity_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_FRONT_H_
