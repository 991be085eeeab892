// SPDX-License-Identifier: Apache-2.0
#include "server/pages/http_endpoint.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "server/pages/kept_text.h"
#include "server/process/clock.h"
#include "server/process/crash_stack.h"

namespace vitrine {
namespace {

// A scrape takes a millisecond, a request's compute comes first; a probe is answered in microseconds all the same.
constexpr int kNiceness = 10;

constexpr char kContentSecurityPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

HttpResponse Text(std::string body, int code = 200) {
  return {.code = code, .type = kPlainText, .body = std::move(body)};
}

// A page with words of strangers: nothing in it may run, load or be framed.
HttpResponse Html(std::string body) {
  return {.type = "text/html; charset=utf-8",
          .body = std::move(body),
          .headers = {{"Cache-Control", "no-store"}, {"Content-Security-Policy", kContentSecurityPolicy}}};
}

HttpResponse Page(const HttpEndpoint::Sources& sources, KeptText& metrics, const std::string& path,
                  const std::string& query) {
  if (path == "/metrics") return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Get()};
  if (path == "/healthz") return Text("ok\n");
  if (path == "/readyz") {
    const std::string reason = sources.not_ready();
    return reason.empty() ? Text("ready\n") : Text(reason + "\n", 503);
  }
  if (path == "/statusz" && sources.status) {
    if (query == "format=json") return {.type = "application/json", .body = StatusJson(sources.status())};
    return Html(StatusHtml(sources.status()));
  }
  return Text("no such page; there are /metrics, /healthz, /readyz and /statusz\n", 404);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const std::string& address, Sources sources) {
  const HttpServerOptions options = {.listen = address,
                                     .purpose = "metrics",
                                     .threads = 4,
                                     .niceness = kNiceness,
                                     .request_timeout = absl::Seconds(5),
                                     .keep_alive = absl::ZeroDuration(),
                                     .read_only = true,
                                     .max_all_bodies_bytes = 16 << 20,
                                     .on_thread = [](const std::function<void()>& run) {
                                       const CrashHandlerStack crash_stack;
                                       run();
                                     }};
  const auto metrics = std::make_shared<KeptText>(SteadyClock(), sources.scrape_period, [of = sources.metrics] {
    return prometheus::TextSerializer().Serialize(of->Collect());
  });
  const auto pages = std::make_shared<const Sources>(std::move(sources));
  ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                   HttpServer::Start(options, [pages, metrics](const std::shared_ptr<HttpRequest>& request) {
                     request->answer_headers.emplace_back("X-Content-Type-Options", "nosniff");
                     return HttpNext::Make([pages, metrics, request] {
                       return Page(*pages, *metrics, request->path(), request->query());
                     });
                   }));
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(server)));
}

}  // namespace vitrine
