#ifndef VITRINE_SERVER_OBSERVABILITY_HTTP_ENDPOINT_H_
#define VITRINE_SERVER_OBSERVABILITY_HTTP_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observability/status.h"

namespace prometheus {
class Collectable;
}

namespace vitrine {

// Plain HTTP for probes, scrapers and people: /metrics (Prometheus text), /healthz (200 while the process runs its
// loops), /readyz (200 when requests are served, else 503 with the reason) and /statusz (see status.h; an HTML page, or
// JSON with ?format=json). GET and HEAD only; every other path is 404. Has
// threads of its own and never touches the path of a request, so that a slow scraper blocks no request. Thread-safe.
class HttpEndpoint {
 public:
  struct Sources {
    const prometheus::Collectable* metrics = nullptr;  // must outlive the endpoint
    // Empty when ready, else the reason in one sentence.
    std::function<std::string()> not_ready;
    std::function<ServerStatus()> status = {};  // null: there is no /statusz
  };

  // Listens on host:port; port 0 picks one. UNAVAILABLE if the address cannot be bound, or is IPv6
  // where the HTTP library has none.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(const std::string& address, Sources sources);
  // Waits for the answers under way.
  ~HttpEndpoint();

  // host:port as bound.
  const std::string& address() const { return address_; }

 private:
  class Pages;
  HttpEndpoint(std::unique_ptr<Pages> pages, std::string address);

  std::unique_ptr<Pages> pages_;
  std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVABILITY_HTTP_ENDPOINT_H_
