// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
#define VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/server.h"
#include "server/pages/status.h"

namespace prometheus {
class Collectable;
}

namespace vitrine {

// What the endpoint tells.
struct HttpEndpointSources {
  const prometheus::Collectable* metrics = nullptr;     // must outlive the endpoint
  absl::Duration scrape_period = absl::ZeroDuration();  // see KeptText
  std::function<std::string()> not_ready;               // empty when ready, else the reason in one sentence
  std::function<ServerStatus()> status = {};            // null: there is no /statusz
};

// Plain HTTP for probes, scrapers and people: /metrics (Prometheus text), /healthz (200 while the process runs its
// loops), /readyz (200 when requests are served, else 503 with the reason) and /statusz (JSON: see status.h). GET and
// HEAD only; every other path is 404. Texts are compressed where that is asked for, and sent whole whatever their size.
// Has threads of its own and never touches the path of a request, so that a slow scraper blocks no request. Listens on
// host:port; port 0 picks one. Errors as HttpServer::Start.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpEndpoint(const std::string& address, HttpEndpointSources sources);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
