// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/metrics_endpoint.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

HttpResponse Page(const TrainingMetrics& metrics, const std::string& path) {
  if (path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = prometheus::TextSerializer().Serialize(metrics.Collect())};
  }
  if (path == "/healthz") return {.type = kPlainText, .body = "ok\n"};
  return {.code = 404, .type = kPlainText, .body = "no such page; there are /metrics and /healthz\n"};
}

}  // namespace

absl::Status CheckMetricsAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not an address for --metrics; give HOST:PORT, for instance 127.0.0.1:9400"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(const Options& options,
                                                                        const TrainingMetrics& metrics) {
  RETURN_IF_ERROR(CheckMetricsAddress(options.address));
  const HttpServerOptions http = {.listen = options.address,
                                  .purpose = "metrics",
                                  .threads = 2,
                                  .request_timeout = absl::Seconds(5),
                                  .idle_timeout = absl::ZeroDuration(),
                                  .read_only = true};
  ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                   HttpServer::Start(http, [&metrics](const std::shared_ptr<HttpRequest>& request) {
                     return HttpHandling::Make([&metrics, request] { return Page(metrics, request->path()); });
                   }));
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(server)));
}

}  // namespace vitrine
