// SPDX-License-Identifier: Apache-2.0
#include "base/http/server.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/http/arrived_request.h"
#include "base/http/connections.h"
#include "base/http/head.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/tcp_listen.h"

namespace vitrine {
namespace {

// A thread without work ends after this.
constexpr std::chrono::seconds kMaxIdleTime{2};
// A connection whose data nobody acknowledges is dropped after this.
constexpr absl::Duration kUnacknowledged = absl::Seconds(20);
// Connections of one server, at most; and at most this share of the process's file descriptors.
constexpr size_t kMostConnections = 1024;
constexpr size_t kDescriptorShare = 4;
// Requests with a body that may wait for a thread.
constexpr size_t kMostWaitingBodies = 256;

size_t MostConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostConnections;
  return std::clamp<size_t>(limit.rlim_cur / kDescriptorShare, 1, kMostConnections);
}

const char* Reason(int code) {
  constexpr std::pair<int, const char*> kReasons[] = {
      {200, "OK"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {409, "Conflict"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  };
  for (const auto& [each, reason] : kReasons) {
    if (each == code) return reason;
  }
  return code < 500 ? "Refused" : "Internal Server Error";
}

// Of a request that could not be read.
HttpResponse Unreadable(const absl::Status& why) {
  return {.code = absl::IsResourceExhausted(why) ? 431 : 400,
          .type = kPlainText,
          .body = absl::StrCat(std::string(why.message()), "\n")};
}

}  // namespace

// The threads that answer: as many as there are requests at once, up to options.threads; idle ones end, but for the
// last. Some are kept from requests with a body, since a body that does not come holds its thread.
class HttpServer::Workers {
 public:
  Workers(HttpServerOptions options, Handler handler) : options_(std::move(options)), handler_(std::move(handler)) {}

  ~Workers() {
    bodies_.ending = true;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      work_.NotifyAll();
      while (!threads_.empty()) gone_.Wait(mutex_);
    }
    if (ended_.joinable()) ended_.join();  // nobody else is left
    connections_.reset();
  }

  absl::Status Listen(const std::vector<int>& sockets) {
    std::vector<FileDescriptor> listening;
    for (const int each : sockets) listening.emplace_back(each);
    ASSIGN_OR_RETURN(connections_,
                     HttpConnections::Open(std::move(listening),
                                           {.head = options_.request_timeout,
                                            .keep_alive = options_.keep_alive,
                                            .most = MostConnections(),
                                            .unsent_bytes = static_cast<size_t>(options_.max_all_bodies_bytes),
                                            .out_of_memory = options_.out_of_memory},
                                           [this](HttpConnectionNode arrived) { Take(std::move(arrived)); }));
    {
      MutexLock lock(mutex_);
      AddThread();
      if (takers_ == 0) return absl::UnavailableError("the system gives the process no thread more");
    }
    connections_->Start();
    return absl::OkStatus();
  }

 private:
  // Whether the request has a body that may be read.
  bool HasBody(const HttpConnection& arrived) const {
    return !options_.read_only && arrived.head.ok() && arrived.head->AnnouncesBody();
  }

  // On the connections' thread.
  void Take(HttpConnectionNode arrived) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      const bool has_body = HasBody(arrived.front());
      HttpConnectionNode& queue = has_body ? with_body_ : others_;
      if (!has_body || queue.size() < kMostWaitingBodies) {
        queue.splice(queue.end(), arrived);
        if (with_body_.size() + others_.size() > idle_) AddThread();
        return work_.NotifyOne();
      }
    }
    Give(std::move(arrived), [](HttpConnection& connection) {
      Answer(connection,
             {.code = 503, .type = kPlainText, .body = "too many requests are on their way at once; try again\n"},
             false);
    });
  }

  // Where none is to be had, those that are there take what waits.
  void AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (static_cast<int>(threads_.size()) >= options_.threads) return;
    try {
      std::list<std::thread> fresh(1);
      const auto self = fresh.begin();
      *self = std::thread([this, self] { Work(self); });
      threads_.splice(threads_.end(), fresh);
      ++takers_;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  void Work(std::list<std::thread>::iterator self) {
    pthread_setname_np(pthread_self(), "http-worker");
    if (options_.niceness != 0) (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
    for (HttpConnectionNode arrived = Next(); !arrived.empty(); arrived = Next()) {
      const bool reads = HasBody(arrived.front());
      Give(std::move(arrived), [this](HttpConnection& connection) { Serve(connection); });
      if (!reads) continue;
      MutexLock lock(mutex_);
      --reading_;
    }
    // Who ends joins who ended before, so that one handle at most is left.
    std::thread before;
    {
      MutexLock lock(mutex_);
      before = std::exchange(ended_, std::move(*self));
      threads_.erase(self);
      gone_.NotifyAll();
    }
    if (before.joinable()) before.join();
  }

  // Empty when the thread is to end.
  HttpConnectionNode Next() {
    auto until = std::chrono::steady_clock::now() + kMaxIdleTime;
    MutexLock lock(mutex_);
    for (;;) {
      const bool may_read = reading_ < options_.threads - options_.threads / 8;
      HttpConnectionNode& queue = others_.empty() && may_read ? with_body_ : others_;
      if (!queue.empty()) {
        HttpConnectionNode next;
        next.splice(next.end(), queue, queue.begin());
        reading_ += HasBody(next.front()) ? 1 : 0;
        return next;
      }
      const auto now = std::chrono::steady_clock::now();
      if (stopping_ || (now >= until && takers_ > 1)) {
        --takers_;
        return {};
      }
      if (now >= until) until = now + kMaxIdleTime;
      ++idle_;
      work_.WaitFor(mutex_, absl::FromChrono(until - now));
      --idle_;
    }
  }

  // Gives a connection back with what `answer` put there; where that finds no memory, with so much.
  void Give(HttpConnectionNode node, const std::function<void(HttpConnection&)>& answer) {
    try {
      answer(node.front());
    } catch (const std::bad_alloc&) {
      node.front().SendOutOfMemory();
      if (options_.out_of_memory != nullptr) options_.out_of_memory();
    }
    connections_->Send(std::move(node));
  }

  void Serve(HttpConnection& connection) {
    if (!connection.head.ok()) return Answer(connection, Unreadable(connection.head.status()), false);
    const HttpHead& head = *connection.head;
    ArrivedRequest request(connection, options_, bodies_);
    const bool refused = options_.read_only && head.method != "GET" && head.method != "HEAD";
    HttpResponse response =
        refused ? HttpResponse{.code = 405, .type = kPlainText, .body = "only GET and HEAD are served here\n"}
                : handler_(request);
    const bool keep = options_.keep_alive > absl::ZeroDuration() && head.KeepsAlive() && request.read_all();
    Answer(connection, std::move(response), keep);
  }

  static void Answer(HttpConnection& connection, HttpResponse response, bool keep) {
    const HttpHead no_head;
    const HttpHead& head = connection.head.ok() ? *connection.head : no_head;
    std::string& bytes = connection.to_send;
    bytes = absl::StrCat("HTTP/1.1 ", response.code, " ", Reason(response.code), "\r\nContent-Type: ", response.type,
                         "\r\nContent-Length: ", response.body.size(), "\r\n");
    for (const auto& [name, value] : response.headers) absl::StrAppend(&bytes, name, ": ", value, "\r\n");
    if (!keep || head.minor_version == 0) {
      absl::StrAppend(&bytes, "Connection: ", keep ? "keep-alive" : "close", "\r\n");
    }
    absl::StrAppend(&bytes, "\r\n");
    if (head.method != "HEAD") bytes += response.body;
    connection.keep = keep;
    connection.held = std::move(response.held);
  }

  const HttpServerOptions options_;
  const Handler handler_;
  HttpBodies bodies_;

  Mutex mutex_;
  CondVar work_;
  HttpConnectionNode with_body_ ABSL_GUARDED_BY(mutex_);  // their requests wait for a thread
  HttpConnectionNode others_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  int reading_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that work on requests with a body
  int takers_ ABSL_GUARDED_BY(mutex_) = 0;   // threads that go on taking requests
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread ended_ ABSL_GUARDED_BY(mutex_);
  CondVar gone_;  // a thread has left the list
  std::unique_ptr<HttpConnections> connections_;
};

HttpServer::HttpServer(std::unique_ptr<Workers> workers, std::string address)
    : workers_(std::move(workers)), address_(std::move(address)) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, Handler handler) {
  ASSIGN_OR_RETURN(TcpListening listening, ListenOnTcp(options.listen, options.purpose, kUnacknowledged));
  auto workers = std::make_unique<Workers>(options, std::move(handler));
  RETURN_IF_ERROR(workers->Listen(listening.sockets));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(workers), std::move(listening.address)));
}

}  // namespace vitrine
