// SPDX-License-Identifier: Apache-2.0
#include "base/http/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/gunzip.h"
#include "base/http/connections.h"
#include "base/http/head.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/tcp_listen.h"

namespace vitrine {
namespace {

// A body that takes longer to arrive is given up: a slow sender holds a thread.
constexpr std::chrono::seconds kMaxBodyTime{30};
// How often whoever waits for a body looks whether the server ends.
constexpr std::chrono::milliseconds kLookForEnd{200};
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

// A share of the bytes that bodies may take, given back when it dies.
class BodyRoom {
 public:
  explicit BodyRoom(std::atomic<int64_t>& taken) : taken_(taken) {}
  ~BodyRoom() { taken_.fetch_sub(bytes_, std::memory_order_relaxed); }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // False if it does not fit; nothing is taken then.
  bool Take(int64_t bytes, int64_t most) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most) {
      taken_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    bytes_ += bytes;
    return true;
  }

 private:
  std::atomic<int64_t>& taken_;
  int64_t bytes_ = 0;
};

// What requests share.
struct Shared {
  std::atomic<int64_t> body_bytes = 0;  // of all connections
  std::atomic<bool> ending = false;     // bodies are not waited for any more
};

class ArrivedRequest : public HttpRequest {
 public:
  ArrivedRequest(HttpConnection& connection, const HttpHead& head, const HttpServerOptions& options, Shared& shared)
      : connection_(connection), head_(head), options_(options), shared_(shared), room_(shared.body_bytes) {}

  const std::string& method() const override { return head_.method; }
  const std::string& path() const override { return head_.path; }
  const std::string& query() const override { return head_.query; }
  std::string peer() const override { return connection_.peer; }
  std::optional<std::string> Header(const std::string& name) const override { return head_.Header(name); }

  absl::StatusOr<std::string> ReadBody() override {
    RETURN_IF_ERROR(CheckBody());
    const auto length = static_cast<size_t>(*head_.ContentLength());
    std::string body(length, '\0');
    const size_t here = std::min(length, connection_.received.size());
    connection_.received.copy(body.data(), here);
    connection_.received.erase(0, here);
    RETURN_IF_ERROR(Receive(body, here));
    read_all_ = true;
    if (!IsCompressed()) return body;
    RETURN_IF_ERROR(TakeRoom(std::min<int64_t>(StatedGunzipSize(body), options_.max_body_bytes)));
    return Gunzip(body, static_cast<size_t>(options_.max_body_bytes));
  }

  // Nothing of the body is left unread on the connection, which may serve the next request.
  bool read_all() const { return read_all_ || !head_.AnnouncesBody(); }

 private:
  bool IsCompressed() const { return absl::EqualsIgnoreCase(Header("Content-Encoding").value_or(""), "gzip"); }

  absl::Status CheckBody() {
    if (!IsCompressed() && !absl::EqualsIgnoreCase(Header("Content-Encoding").value_or("identity"), "identity")) {
      return absl::InvalidArgumentError("the body's Content-Encoding is not known; send it as it is, or with gzip");
    }
    if (!head_.ContentLength().has_value()) return absl::InvalidArgumentError("the request has no Content-Length");
    const int64_t length = *head_.ContentLength();
    if (length > options_.max_body_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the body has ", length, " bytes; at most ", options_.max_body_bytes, " are read"));
    }
    return TakeRoom(length);
  }

  absl::Status TakeRoom(int64_t bytes) {
    if (room_.Take(bytes, options_.max_all_bodies_bytes)) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many large requests are on their way at once; come back in a moment");
  }

  // What is missing of the body from its byte `read` on.
  absl::Status Receive(std::string& body, size_t read) {
    if (read < body.size() && absl::EqualsIgnoreCase(Header("Expect").value_or(""), "100-continue")) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      (void)!send(connection_.socket.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
    }
    const auto end = std::chrono::steady_clock::now() + kMaxBodyTime;
    while (read < body.size()) {
      const ssize_t more = recv(connection_.socket.get(), body.data() + read, body.size() - read, 0);
      if (more > 0) {
        read += static_cast<size_t>(more);
      } else if (more == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        return absl::InvalidArgumentError("the body ended before its Content-Length");
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (left <= 0) return absl::DeadlineExceededError("the body took too long to arrive");
      if (shared_.ending) return absl::UnavailableError("the server is draining");
      pollfd waiting = {.fd = connection_.socket.get(), .events = POLLIN, .revents = 0};
      if (read < body.size()) poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, kLookForEnd.count())));
    }
    return absl::OkStatus();
  }

  HttpConnection& connection_;
  const HttpHead& head_;
  const HttpServerOptions& options_;
  const Shared& shared_;
  BodyRoom room_;
  bool read_all_ = false;
};

// Of a request that could not be read.
HttpResponse Unreadable(const absl::Status& why) {
  return {.code = absl::IsResourceExhausted(why) ? 431 : 400,
          .type = kPlainText,
          .body = absl::StrCat(std::string(why.message()), "\n")};
}

}  // namespace

// The threads that answer: as many as there are requests at once, up to options.threads; idle ones end. Some are kept
// from requests with a body, since a body that does not come holds its thread.
class HttpServer::Workers {
 public:
  Workers(HttpServerOptions options, Handler handler) : options_(std::move(options)), handler_(std::move(handler)) {}

  ~Workers() {
    shared_.ending = true;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      work_.NotifyAll();
      while (!threads_.empty()) gone_.Wait(mutex_);
    }
    if (ended_.joinable()) ended_.join();  // nobody else is left
    connections_.reset();
  }

  absl::Status Listen(std::vector<int> sockets) {
    std::vector<FileDescriptor> listening;
    for (const int each : sockets) listening.emplace_back(each);
    ASSIGN_OR_RETURN(connections_,
                     HttpConnections::Open(std::move(listening),
                                           {.head = options_.request_timeout,
                                            .keep_alive = options_.keep_alive,
                                            .most = MostConnections(),
                                            .unsent_bytes = static_cast<size_t>(options_.max_all_bodies_bytes)},
                                           [this](std::unique_ptr<HttpConnection> connection, HttpArrival head) {
                                             const bool with_body =
                                                 !options_.read_only && head.ok() && head->AnnouncesBody();
                                             Take({std::move(connection), std::move(head), with_body});
                                           }));
    connections_->Start();
    return absl::OkStatus();
  }

 private:
  struct Job {
    std::unique_ptr<HttpConnection> connection;
    HttpArrival head;
    bool with_body;  // that may be read
  };

  // On the connections' thread.
  void Take(Job job) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      std::deque<Job>& queue = job.with_body ? bodies_ : others_;
      if (!job.with_body || queue.size() < kMostWaitingBodies) {
        queue.push_back(std::move(job));
        if (bodies_.size() + others_.size() > idle_) AddThread();
        return work_.NotifyOne();
      }
    }
    Answer(std::move(job.connection), *job.head,
           {.code = 503, .type = kPlainText, .body = "too many requests are on their way at once; try again\n"}, false);
  }

  // Without a thread left the next one that is free takes what waits.
  void AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (static_cast<int>(threads_.size()) >= options_.threads) return;
    const auto self = threads_.emplace(threads_.end());
    try {
      *self = std::thread([this, self] { Work(self); });
    } catch (const std::system_error&) {
      threads_.erase(self);
    }
  }

  void Work(std::list<std::thread>::iterator self) {
    pthread_setname_np(pthread_self(), "http-worker");
    while (std::optional<Job> job = Next()) {
      const bool reads = job->with_body;
      Serve(*std::move(job));
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

  // Nothing when the thread is to end.
  std::optional<Job> Next() {
    const auto until = std::chrono::steady_clock::now() + kMaxIdleTime;
    MutexLock lock(mutex_);
    for (;;) {
      const bool may_read = reading_ < options_.threads - options_.threads / 8;
      std::deque<Job>& queue = others_.empty() && may_read ? bodies_ : others_;
      if (!queue.empty()) {
        Job job = std::move(queue.front());
        queue.pop_front();
        reading_ += job.with_body ? 1 : 0;
        return job;
      }
      const auto left = until - std::chrono::steady_clock::now();
      if (stopping_ || left <= left.zero()) return std::nullopt;
      ++idle_;
      work_.WaitFor(mutex_, absl::FromChrono(left));
      --idle_;
    }
  }

  void Serve(Job job) {
    if (!job.head.ok()) return Answer(std::move(job.connection), {}, Unreadable(job.head.status()), false);
    const HttpHead& head = *job.head;
    ArrivedRequest request(*job.connection, head, options_, shared_);
    const bool refused = options_.read_only && head.method != "GET" && head.method != "HEAD";
    HttpResponse response =
        refused ? HttpResponse{.code = 405, .type = kPlainText, .body = "only GET and HEAD are served here\n"}
                : Handle(request);
    const bool keep = options_.keep_alive > absl::ZeroDuration() && head.KeepsAlive() && request.read_all();
    Answer(std::move(job.connection), head, std::move(response), keep);
  }

  HttpResponse Handle(HttpRequest& request) {
    try {
      return handler_(request);
    } catch (const std::bad_alloc&) {
      return {.code = 503, .type = kPlainText, .body = "out of memory\n", .headers = {{"Retry-After", "1"}}};
    }
  }

  void Answer(std::unique_ptr<HttpConnection> connection, const HttpHead& head, HttpResponse response, bool keep) {
    std::string& bytes = connection->to_send;
    bytes = absl::StrCat("HTTP/1.1 ", response.code, " ", Reason(response.code), "\r\nContent-Type: ", response.type,
                         "\r\nContent-Length: ", response.body.size(), "\r\n");
    for (const auto& [name, value] : response.headers) absl::StrAppend(&bytes, name, ": ", value, "\r\n");
    if (!keep || head.minor_version == 0) {
      absl::StrAppend(&bytes, "Connection: ", keep ? "keep-alive" : "close", "\r\n");
    }
    absl::StrAppend(&bytes, "\r\n");
    if (head.method != "HEAD") bytes += response.body;
    connection->keep = keep;
    connection->held = std::move(response.held);
    connections_->Send(std::move(connection));
  }

  const HttpServerOptions options_;
  const Handler handler_;
  Shared shared_;

  Mutex mutex_;
  CondVar work_;
  std::deque<Job> bodies_ ABSL_GUARDED_BY(mutex_);  // requests with a body
  std::deque<Job> others_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  int reading_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that work on requests with a body
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
  RETURN_IF_ERROR(workers->Listen(std::move(listening.sockets)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(workers), std::move(listening.address)));
}

}  // namespace vitrine
