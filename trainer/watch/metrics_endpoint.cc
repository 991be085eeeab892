#include "trainer/watch/metrics_endpoint.h"

#include <CivetServer.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace vitrine {
namespace {

struct Page {
  const char* status = "200 OK";
  std::string body;
  const char* type = "text/plain; charset=utf-8";
};

void Send(mg_connection* connection, const Page& page, bool with_body) {
  std::string answer = absl::StrCat("HTTP/1.1 ", page.status, "\r\nContent-Type: ", page.type,
                                    "\r\nContent-Length: ", page.body.size(), "\r\nConnection: close\r\n\r\n");
  if (with_body) answer += page.body;
  mg_write(connection, answer.data(), answer.size());
}

absl::Status CheckAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is no address for metrics; give HOST:PORT, for instance 127.0.0.1:9400"));
  }
  if (address.find(':') != colon && mg_check_feature(MG_FEATURES_IPV6) == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address,
                                               " for metrics: the HTTP library of this build has no IPv6; name an IPv4 "
                                               "address, for instance 127.0.0.1:9400"));
  }
  return absl::OkStatus();
}

}  // namespace

// Every path comes here, so that nothing of civetweb's own (files, listings) is reachable.
class MetricsEndpoint::Pages : public CivetHandler {
 public:
  Pages(const TrainingMetrics& metrics, absl::Duration stalled_after)
      : metrics_(metrics), stalled_after_(stalled_after) {}

  bool handleGet(CivetServer*, mg_connection* connection) override { return Answer(connection, true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return Answer(connection, false); }
  bool handlePost(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePut(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleDelete(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleOptions(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePatch(CivetServer*, mg_connection* connection) override { return Refuse(connection); }

  // Destroyed first: its threads use the others.
  std::unique_ptr<CivetServer> server;

 private:
  bool Answer(mg_connection* connection, bool with_body) {
    const mg_request_info* info = mg_get_request_info(connection);
    Send(connection, Make(info->local_uri == nullptr ? "" : info->local_uri), with_body);
    return true;
  }

  bool Refuse(mg_connection* connection) {
    Send(connection, {.status = "405 Method Not Allowed", .body = "only GET and HEAD are served here\n"}, true);
    return true;
  }

  Page Make(std::string_view path) const {
    if (path == "/metrics") {
      return {.body = prometheus::TextSerializer().Serialize(metrics_.Collect()),
              .type = "text/plain; version=0.0.4; charset=utf-8"};
    }
    if (path == "/healthz") return Health();
    return {.status = "404 Not Found", .body = "no such page; there are /metrics and /healthz\n"};
  }

  Page Health() const {
    const absl::Duration silent = absl::Now() - metrics_.last_sign();
    if (silent <= stalled_after_) return {.body = "ok\n"};
    return {.status = "503 Service Unavailable",
            .body = absl::StrCat("no step, measurement or epoch ended for ",
                                 absl::FormatDuration(absl::Trunc(silent, absl::Seconds(1))), "\n")};
  }

  const TrainingMetrics& metrics_;
  const absl::Duration stalled_after_;
};

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<Pages> pages, std::string address)
    : pages_(std::move(pages)), address_(std::move(address)) {}

MetricsEndpoint::~MetricsEndpoint() {
  pages_->server.reset();
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(const Options& options,
                                                                        const TrainingMetrics& metrics) {
  if (const absl::Status good = CheckAddress(options.address); !good.ok()) return good;
  auto pages = std::make_unique<Pages>(metrics, options.stalled_after);
  const std::vector<std::string> settings = {
      "listening_ports",    options.address, "num_threads",       "4", "connection_queue", "16",
      "request_timeout_ms", "1000",          "enable_keep_alive", "no"};
  try {
    pages->server = std::make_unique<CivetServer>(settings);
  } catch (const CivetException&) {  // its text names the library's options, not the cause
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.address, " for metrics; is the port in use, or the host not ours?"));
  }
  pages->server->addHandler("/**", *pages);
  const std::vector<int> ports = pages->server->getListeningPorts();
  const std::string host = options.address.substr(0, options.address.rfind(':'));
  std::string bound = absl::StrCat(host, ":", ports.empty() ? 0 : ports.front());
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(pages), std::move(bound)));
}

}  // namespace vitrine
