// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_PORT_H_
#define VITRINE_SERVER_WIRE_HTTP_PORT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/http/exchange.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/http/classify_front.h"
#include "server/wire/http/cors.h"
#include "server/wire/http/page_files.h"
#include "server/wire/oip/embeddings_front.h"
#include "server/wire/oip/http_front.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// What the HTTP port has for people, beside what programs ask.
struct HttpPortPage {
  std::shared_ptr<const PageFiles> files = nullptr;                 // null: there is no page
  std::function<std::string(const Caller&)> status_json = nullptr;  // what this caller may see; null: no /v1/status
};

// What callers get over HTTP, on any listener: /v1/embeddings is answered by EmbeddingsFront, the rest of /v1 by
// HttpClassifyFront, the page by its files, everything else by OipHttpFront, which has /v2. GET /v1/status is for those
// who may list models; GET /openapi.json, which needs no credential, says what there is. The id that a request has in
// "x-request-id" is returned; responses are compressed with gzip where that is asked for. Thread-safe. The parts
// outlive the object.
class HttpPort {
 public:
  // `cors_origins`: of pages of others whose scripts may read the answers.
  HttpPort(std::vector<std::string> cors_origins, ClassifyService& service, Registry& registry,
           const Identity& identity, Health& health, HttpPortPage page = {})
      : service_(service),
        identity_(identity),
        cors_(std::move(cors_origins)),
        page_(std::move(page)),
        classify_(service, registry, identity),
        oip_(service, registry, identity, health),
        embeddings_(service, identity, oip_.parsed()) {}

  // As the fronts do.
  HttpNext Begin(const std::shared_ptr<HttpRequest>& request);

 private:
  HttpNext Route(const std::shared_ptr<HttpRequest>& request);
  HttpNext Status(const HttpRequest& request);

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
