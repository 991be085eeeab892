// SPDX-License-Identifier: Apache-2.0
#include "base/http/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/http/connections.h"
#include "base/http/workers.h"
#include "base/status_macros.h"
#include "base/tcp_listen.h"

namespace vitrine {
namespace {

// A connection whose data nobody acknowledges is dropped after this.
constexpr absl::Duration kUnacknowledged = absl::Seconds(20);
// Connections of one server, at most; and at most this share of the process's file descriptors.
constexpr size_t kMostConnections = 1024;
constexpr size_t kDescriptorShare = 4;
// What is read from a connection at once.
constexpr size_t kScratchBytes = size_t{64} << 10;

size_t MostConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostConnections;
  return std::clamp<size_t>(limit.rlim_cur / kDescriptorShare, 1, kMostConnections);
}

// What new connections speak, made anew when the files have changed. Files that OpenSSL takes no more leave what was.
class CurrentTls {
 public:
  static absl::StatusOr<CurrentTls> Open(std::function<std::shared_ptr<const TlsPem>()> source) {
    CurrentTls tls;
    tls.pem_ = source();
    ASSIGN_OR_RETURN(tls.context_, TlsContext::Make(*tls.pem_));
    tls.source_ = std::move(source);
    return tls;
  }

  std::shared_ptr<const TlsContext> Get() {
    std::shared_ptr<const TlsPem> now = source_();
    if (now == pem_) return context_;
    absl::StatusOr<std::shared_ptr<const TlsContext>> made = TlsContext::Make(*now);
    pem_ = std::move(now);
    if (made.ok()) context_ = *std::move(made);
    return context_;
  }

 private:
  std::function<std::shared_ptr<const TlsPem>()> source_;
  std::shared_ptr<const TlsPem> pem_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace

struct HttpServer::Parts {
  Parts(const HttpServerOptions& options, HttpHandler handler)
      : workers(options.threads, options.niceness, options.on_thread, options.out_of_memory),
        common{.handler = std::move(handler),
               .read_only = options.read_only,
               .head_time = options.request_timeout,
               .body_time = options.body_timeout,
               .keep_alive = options.keep_alive,
               .max_body_bytes = options.max_body_bytes,
               .out_of_memory = options.out_of_memory,
               .bodies = std::make_shared<BodyBytes>(options.max_all_bodies_bytes),
               .workers = workers,
               .scratch = std::vector<char>(kScratchBytes),
               .replied = {},
               .closed = {}} {}

  HttpWorkers workers;
  HttpCommon common;
  std::unique_ptr<HttpConnections> connections;  // ends first, with the help of the workers
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts, std::string address)
    : parts_(std::move(parts)), address_(std::move(address)) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, HttpHandler handler) {
  HttpConnections::Tls tls;
  if (options.tls != nullptr) {
    ASSIGN_OR_RETURN(CurrentTls current, CurrentTls::Open(options.tls));
    tls = [current]() mutable { return current.Get(); };
  }
  ASSIGN_OR_RETURN(TcpListening listening, ListenOnTcp(options.listen, options.purpose, kUnacknowledged));
  std::vector<FileDescriptor> sockets;
  for (const int each : listening.sockets) sockets.emplace_back(each);
  auto parts = std::make_unique<Parts>(options, std::move(handler));
  ASSIGN_OR_RETURN(parts->connections,
                   HttpConnections::Open(
                       std::move(sockets),
                       {.most = MostConnections(), .unsent_bytes = static_cast<size_t>(options.max_all_bodies_bytes)},
                       std::move(tls), options.on_thread, parts->common));
  RETURN_IF_ERROR(parts->workers.Start());
  parts->connections->Start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts), std::move(listening.address)));
}

}  // namespace vitrine
