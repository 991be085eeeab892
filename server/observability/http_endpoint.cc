#include "server/observability/http_endpoint.h"

#include <CivetServer.h>
#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace vitrine {
namespace {

constexpr char kHtmlHeaders[] =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'\r\n";

// The body of one page, made for each request.
struct Page {
  int status = 200;
  std::string body;
  absl::string_view type = "text/plain; charset=utf-8";
  // A page with words of strangers: nothing in it may run, load or be framed.
  bool is_html = false;
};

absl::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Send(mg_connection* connection, const Page& page, bool with_body) {
  // No body is wanted here; without this civetweb reads what was announced, however slowly it comes.
  mg_disable_connection_keep_alive(connection);
  const std::string head = absl::StrCat("HTTP/1.1 ", page.status, " ", Reason(page.status),
                                        "\r\nContent-Type: ", page.type, "\r\nContent-Length: ", page.body.size(),
                                        "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n",
                                        page.is_html ? kHtmlHeaders : "", "\r\n");
  mg_write(connection, head.data(), head.size());
  if (with_body) mg_write(connection, page.body.data(), page.body.size());
}

// The host of host:port, without the brackets of IPv6.
std::string HostOf(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// Connects to host:port and hangs up.
void Knock(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(HostOf(address).c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) return;
  const int connection = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection >= 0) {
    (void)!connect(connection, found->ai_addr, found->ai_addrlen);
    close(connection);
  }
  freeaddrinfo(found);
}

}  // namespace

// Every path comes here, so that nothing of civetweb's own (files, listings) is reachable.
class HttpEndpoint::Pages : public CivetHandler {
 public:
  explicit Pages(Sources sources) : sources_(std::move(sources)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override { return Answer(connection, true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return Answer(connection, false); }
  bool handlePost(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePut(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleDelete(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleOptions(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePatch(CivetServer*, mg_connection* connection) override { return Refuse(connection); }

  // Last member to be destroyed first: its threads use the sources.
  std::unique_ptr<CivetServer> server;

 private:
  bool Answer(mg_connection* connection, bool with_body) {
    const mg_request_info* info = mg_get_request_info(connection);
    const std::string_view path = info->local_uri == nullptr ? "" : info->local_uri;
    const std::string_view query = info->query_string == nullptr ? "" : info->query_string;
    Send(connection, Make(path, query), with_body);
    return true;
  }

  bool Refuse(mg_connection* connection) {
    Send(connection, {.status = 405, .body = "only GET and HEAD are served here\n"}, true);
    return true;
  }

  Page Make(std::string_view path, std::string_view query) const {
    if (path == "/metrics") {
      return {.body = prometheus::TextSerializer().Serialize(sources_.metrics->Collect()),
              .type = "text/plain; version=0.0.4; charset=utf-8"};
    }
    if (path == "/healthz") return {.body = "ok\n"};
    if (path == "/readyz") {
      const std::string reason = sources_.not_ready();
      return reason.empty() ? Page{.body = "ready\n"} : Page{.status = 503, .body = reason + "\n"};
    }
    if (path == "/statusz" && sources_.status) {
      if (query == "format=json") return {.body = StatusJson(sources_.status()), .type = "application/json"};
      return {.body = StatusHtml(sources_.status()), .type = "text/html; charset=utf-8", .is_html = true};
    }
    return {.status = 404, .body = "no such page; there are /metrics, /healthz, /readyz and /statusz\n"};
  }

  const Sources sources_;
};

HttpEndpoint::HttpEndpoint(std::unique_ptr<Pages> pages, std::string address)
    : pages_(std::move(pages)), address_(std::move(address)) {}

// civetweb's accepting thread looks at its stop flag when somebody connects, otherwise every two seconds.
HttpEndpoint::~HttpEndpoint() {
  const std::future<void> stopped = std::async(std::launch::async, [this] { pages_->server.reset(); });
  do {
    Knock(address_);
  } while (stopped.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready);
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const std::string& address, Sources sources) {
  if (HostOf(address).find(':') != std::string::npos && mg_check_feature(MG_FEATURES_IPV6) == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address,
                                               " for metrics: the HTTP library of this build has no IPv6; name an IPv4 "
                                               "address, for instance 127.0.0.1:8501"));
  }
  auto pages = std::make_unique<Pages>(std::move(sources));
  // A connection holds a thread until it is answered or timed out; probes must get through beside silent ones.
  const std::vector<std::string> options = {"listening_ports",    address, "num_threads",       "16",
                                            "request_timeout_ms", "1000",  "enable_keep_alive", "no",
                                            "connection_queue",   "64"};
  try {
    pages->server = std::make_unique<CivetServer>(options);
  } catch (const CivetException&) {  // its text names the library's options, not the cause
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, " for metrics; is the port in use, or the host not ours?"));
  }
  pages->server->addHandler("/**", *pages);
  const std::vector<int> ports = pages->server->getListeningPorts();
  const std::string host = address.substr(0, address.rfind(':'));
  std::string bound = absl::StrCat(host, ":", ports.empty() ? 0 : ports.front());
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(pages), std::move(bound)));
}

}  // namespace vitrine
