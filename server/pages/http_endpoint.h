// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
#define VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/server.h"
#include "server/pages/status.h"

namespace prometheus {
class Collectable;
}

namespace vitrine {

// Plain HTTP for probes, scrapers and people: /metrics (Prometheus text), /healthz (200 while the process runs its
// loops), /readyz (200 when requests are served, else 503 with the reason) and /statusz (JSON: see status.h).
// GET and HEAD only; every other path is 404. Has threads of its own and never touches the
// path of a request, so that a slow scraper blocks no request. Thread-safe.
class HttpEndpoint {
 public:
  struct Sources {
    const prometheus::Collectable* metrics = nullptr;     // must outlive the endpoint
    absl::Duration scrape_period = absl::ZeroDuration();  // see KeptText
    // Empty when ready, else the reason in one sentence.
    std::function<std::string()> not_ready;
    std::function<ServerStatus()> status = {};  // null: there is no /statusz
  };

  // Listens on host:port; port 0 picks one. Errors as HttpServer::Start. Its end waits for the answers under way.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(const std::string& address, Sources sources);

  // host:port as bound.
  const std::string& address() const { return server_->address(); }

 private:
  explicit HttpEndpoint(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_HTTP_ENDPOINT_H_
