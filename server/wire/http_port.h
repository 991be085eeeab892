// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_PORT_H_
#define VITRINE_SERVER_WIRE_HTTP_PORT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/http/exchange.h"
#include "server/identity/identity.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/http/classify_front.h"
#include "server/wire/http/cors.h"
#include "server/wire/http/page_files.h"
#include "server/wire/oip/embeddings_front.h"
#include "server/wire/oip/http_front.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// The web page, and the function that returns the body of /v1/status.
struct HttpPortPage {
  std::shared_ptr<const PageFiles> files = nullptr;                 // web page; null: no page
  std::function<std::string(const Caller&)> status_json = nullptr;  // null: /v1/status does not exist
};

// Routes HTTP requests, for any listener: /v1/embeddings to EmbeddingsFront, other paths of /v1 to HttpClassifyFront,
// files of the page to PageFiles, everything else (including /v2) to OipHttpFront. GET /v1/status needs the right to
// list models; GET /openapi.json needs no credential. Copies the request's "x-request-id" to the response, and
// compresses responses, except small ones, with gzip if the request accepts gzip. Thread-safe. The arguments must
// outlive the object.
class HttpPort {
 public:
  // `cors_origins`: origins of other sites whose scripts may read the answers.
  HttpPort(std::vector<std::string> cors_origins, ClassifyService& service, Registry& registry,
           const Identity& identity, Health& health, HttpPortPage page = {})
      : service_(service),
        identity_(identity),
        cors_(std::move(cors_origins)),
        page_(std::move(page)),
        classify_(service, registry, identity),
        oip_(service, registry, identity, health),
        embeddings_(service, identity, oip_.parsed()) {}

  // Begins the answer to a request, for example with HttpClassifyFront::Begin.
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request);

 private:
  HttpHandling Route(const std::shared_ptr<HttpRequest>& request);
  HttpHandling Status(const HttpRequest& request);

  ClassifyService& service_;
  const Identity& identity_;
  const CrossOrigin cors_;
  const HttpPortPage page_;
  HttpClassifyFront classify_;
  OipHttpFront oip_;
  EmbeddingsFront embeddings_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_PORT_H_
