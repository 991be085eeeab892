// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
#define VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/server.h"
#include "server/pages/status.h"

namespace prometheus {
class Collectable;
}

namespace vitrine {

// Data sources of the endpoint's pages.
struct HttpEndpointSources {
  const prometheus::Collectable* metrics = nullptr;     // metrics of /metrics; must outlive the endpoint
  absl::Duration scrape_period = absl::ZeroDuration();  // period of RateLimitedText for /metrics
  // "" if the server is ready, otherwise the reason in one sentence
  std::function<std::string()> not_ready;
  std::function<ServerStatus()> status = {};  // contents of /statusz; null: no such page
  HttpObserver* observer = nullptr;           // may be null; must outlive the endpoint
};

// Starts an HTTP server without TLS for probes, scrapers and people. It has the pages /metrics (Prometheus text),
// /healthz (200 while the process serves HTTP), /readyz (200 if requests are served, otherwise 503 with the reason) and
// /statusz (JSON: see status.h). GET and HEAD only; every other path is 404. Responses are compressed if the request
// accepts compression. Uses its own threads, which run no inference, so that a slow scraper blocks no request.
// `address` is host:port; port 0 picks a free port. For errors, see HttpServer::Start.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpEndpoint(const std::string& address, HttpEndpointSources sources);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
