// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/metrics_endpoint.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

HttpResponse Health(const TrainingMetrics& metrics, absl::Duration stalled_after) {
  const absl::Duration silent = absl::Now() - metrics.last_sign();
  if (silent <= stalled_after) return {.type = kPlainText, .body = "ok\n"};
  return {.code = 503,
          .type = kPlainText,
          .body = absl::StrCat("no step, measurement or epoch ended for ",
                               absl::FormatDuration(absl::Trunc(silent, absl::Seconds(1))), "\n")};
}

HttpResponse Page(const TrainingMetrics& metrics, absl::Duration stalled_after, const std::string& path) {
  if (path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = prometheus::TextSerializer().Serialize(metrics.Collect())};
  }
  if (path == "/healthz") return Health(metrics, stalled_after);
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
                   HttpServer::Start(http, [&metrics, stalled_after = options.stalled_after](
                                               const std::shared_ptr<HttpRequest>& request) {
                     return HttpHandling::Make(
                         [&metrics, stalled_after, request] { return Page(metrics, stalled_after, request->path()); });
                   }));
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(server)));
}

}  // namespace vitrine
