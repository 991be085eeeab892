// SPDX-License-Identifier: Apache-2.0
#include "server/pages/http_endpoint.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "common/http/byte_budget.h"
#include "common/http/compress.h"
#include "server/pages/kept_text.h"
#include "server/process/clock.h"
#include "server/process/crash_stack.h"

namespace vitrine {
namespace {

// Niceness of this endpoint's threads. It gives inference priority over scrapes, which take a millisecond each. A probe
// takes only microseconds, so it is answered fast even at this low priority.
constexpr int kNiceness = 10;
// Requests to this endpoint have no body, so a small limit is enough.
constexpr int64_t kMaxReceivedBytes = 1 << 20;

HttpResponse Text(std::string body, int code = 200) {
  return {.code = code, .type = kPlainText, .body = std::move(body)};
}

HttpResponse Page(const HttpEndpointSources& sources, RateLimitedText& metrics, const std::string& path) {
  if (path == "/metrics") return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Get()};
  if (path == "/healthz") return Text("ok\n");
  if (path == "/readyz") {
    const std::string reason = sources.not_ready();
    return reason.empty() ? Text("ready\n") : Text(reason + "\n", 503);
  }
  if (path == "/statusz" && sources.status) {
    return {
        .type = "application/json", .body = StatusJson(sources.status()), .headers = {{"Cache-Control", "no-store"}}};
  }
  return Text("no such page; there are /metrics, /healthz, /readyz and /statusz\n", 404);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpEndpoint(const std::string& address, HttpEndpointSources sources) {
  const HttpServerOptions options = {.listen = address,
                                     .purpose = "--metrics",
                                     .threads = 4,
                                     .niceness = kNiceness,
                                     .request_timeout = absl::Seconds(5),
                                     .idle_timeout = absl::ZeroDuration(),
                                     .read_only = true,
                                     .max_connections = kOperatorConnections,
                                     .received = std::make_shared<ByteBudget>(kMaxReceivedBytes),
                                     .on_thread = WithCrashStack,
                                     .observer = sources.observer};
  const auto metrics = std::make_shared<RateLimitedText>(SteadyClock(), sources.scrape_period, [of = sources.metrics] {
    return prometheus::TextSerializer().Serialize(of->Collect());
  });
  const auto pages = std::make_shared<const HttpEndpointSources>(std::move(sources));
  return HttpServer::Start(options, [pages, metrics](const std::shared_ptr<HttpRequest>& request) {
    request->answer_headers.emplace_back("X-Content-Type-Options", "nosniff");
    return HttpHandling::Make([pages, metrics, request] {
      HttpResponse response = Page(*pages, *metrics, request->path());
      CompressFor(*request, response);
      return response;
    });
  });
}

}  // namespace vitrine
