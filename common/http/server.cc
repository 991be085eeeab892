// SPDX-License-Identifier: Apache-2.0
#include "common/http/server.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/loop.h"
#include "common/http/network/tcp_listen.h"
#include "common/http/network/unix_listen.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Descriptors reserved for files and other sockets of the process: a quarter of the process's limit, but within these
// bounds. About 20 are open while the server is idle, and health checks and scrapes need some more.
constexpr int64_t kLeastReserved = 32;
constexpr int64_t kMostReserved = 128;
constexpr int kAcceptsAtOnce = 64;
constexpr int64_t kMostReplaced = 16;  // maximum number of connections that Replace holds, below kLeastReserved
// Limits on requests that wait for a worker thread: in total, and from one network. Work with and without a body is
// counted separately.
constexpr size_t kMostWaiting = 4096;
constexpr size_t kMostWaitingOfNetwork = 1024;
constexpr int kHandshakeThreads = 2;
constexpr int kHandshakeNiceness = 5;
// Maximum time that Describe waits for the threads of the loops.
constexpr std::chrono::milliseconds kDescribePatience(500);
constexpr size_t kDescribedAtOnce = 1024;

// Reduces the list to its `most` largest connections, largest first.
void KeepLargest(size_t most, std::vector<HttpConnectionStatus>& list) {
  const auto size_of = [](const HttpConnectionStatus& each) {
    return std::tie(each.unsent_bytes, each.streams, each.received_bytes);
  };
  std::ranges::stable_sort(list, std::greater(), size_of);
  if (list.size() > most) list.resize(most);
}

int64_t MostConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return int64_t{1} << 20;
  const auto most = static_cast<int64_t>(limit.rlim_cur);
  return std::max<int64_t>(1, most - std::clamp(most / 4, kLeastReserved, kMostReserved));
}

// TLS context for new connections, recreated when the files change. If OpenSSL rejects new files, the previous context
// is kept. Thread-safe.
class CurrentTls {
 public:
  using Source = std::function<std::shared_ptr<const TlsPem>()>;

  static absl::StatusOr<std::shared_ptr<CurrentTls>> Open(Source source) {
    auto tls = std::make_shared<CurrentTls>();
    MutexLock lock(tls->mutex_);
    tls->pem_ = source();
    ASSIGN_OR_RETURN(tls->context_, TlsContext::Make(*tls->pem_));
    tls->source_ = std::move(source);
    return tls;
  }

  std::shared_ptr<const TlsContext> Get() {
    std::shared_ptr<const TlsPem> now = source_();
    MutexLock lock(mutex_);
    if (now == pem_) return context_;
    absl::StatusOr<std::shared_ptr<const TlsContext>> made = TlsContext::Make(*now);
    pem_ = std::move(now);
    if (made.ok()) context_ = *std::move(made);
    return context_;
  }

 private:
  Source source_;  // constant after Open has returned
  Mutex mutex_;
  std::shared_ptr<const TlsPem> pem_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TlsContext> context_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::shared_ptr<HttpCommon>> MakeCommon(const HttpServerOptions& options, HttpHandler handler) {
  auto common = std::make_shared<HttpCommon>();
  common->options = options;
  common->handler = std::move(handler);
  common->received = options.received != nullptr ? options.received : std::make_shared<ByteBudget>(int64_t{128} << 20);
  for (const std::string& each : options.trusted_proxies) {
    ASSIGN_OR_RETURN(common->proxies.emplace_back(), Network::Parse(each));
  }
  common->addresses = std::make_unique<AddressLimits>(options.abuse);
  common->workers = std::make_unique<Workers>(Workers::Options{.threads = std::max(options.threads, 2),
                                                               .niceness = options.niceness,
                                                               .most = kMostWaiting,
                                                               .most_per_account = kMostWaitingOfNetwork,
                                                               .on_thread = options.on_thread});
  if (options.tls != nullptr) {
    ASSIGN_OR_RETURN(const std::shared_ptr<CurrentTls> tls, CurrentTls::Open(options.tls));
    common->tls = [tls] { return tls->Get(); };
    common->handshakers = std::make_unique<Workers>(Workers::Options{.name = "handshake",
                                                                     .threads = kHandshakeThreads,
                                                                     .niceness = kHandshakeNiceness,
                                                                     .on_thread = options.on_thread});
  }
  return common;
}

}  // namespace

struct HttpServer::Parts {
  class Acceptor;
  HttpLoop& LeastLoaded();
  // Returns the number of connections of all loops, plus the connections that Replace holds.
  int64_t Load() const;
  void Refuse(CloseReason reason, const HttpLoop::Accepted& accepted) const;
  // Makes the loop with the index `first` close its longest idle connection and take over `accepted` instead. A loop
  // that has no idle connection passes `accepted` on to the next loop; the last loop rejects it.
  void Replace(std::shared_ptr<HttpLoop::Accepted> accepted, size_t first, size_t tried = 0);

  std::shared_ptr<HttpCommon> common;
  std::vector<std::shared_ptr<Acceptor>> acceptors;  // used only by the first loop's thread
  std::vector<std::unique_ptr<HttpLoop>> loops;
  std::atomic<int64_t> replacing = 0;  // number of connections that Replace holds
  std::string address;
  std::unique_ptr<UnixListening> socket;  // null without options.socket
  bool is_shut_down = false;
};

// A listening socket.
class HttpServer::Parts::Acceptor final : public Watched {
 public:
  Acceptor(HttpLoop& loop, FileDescriptor listening, Parts& parts)
      : Watched(loop.events(), std::move(listening)), parts_(parts) {}

  // Accepts the pending connections, unless the server is full. Closing the socket would reset these connections.
  void Stop() {
    AcceptUpTo(SOMAXCONN);
    CloseDescriptor();
  }

 private:
  void OnReady(bool, bool, bool) override { AcceptUpTo(kAcceptsAtOnce); }

  void AcceptUpTo(int most) {
    for (int i = 0; i < most; ++i) {
      // Accepts no more connections until the next tick.
      if (parts_.replacing.load(std::memory_order_relaxed) >= kMostReplaced) return Await(false, false);
      HttpLoop::Accepted accepted;
      socklen_t size = sizeof(accepted.address);
      accepted.socket = FileDescriptor(
          accept4(descriptor(), reinterpret_cast<sockaddr*>(&accepted.address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted.socket.valid()) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) Pause();
        return;  // accept(2) also fails if the pending connection has failed
      }
      Take(std::move(accepted));
    }
  }

  // Makes the next loop close its longest idle connection, because no descriptor is left. The next tick accepts again.
  void Pause() {
    HttpLoop& loop = *parts_.loops[NextLoop()];
    loop.events().Post([&loop] { loop.CloseIdlest(); });
    Await(false, false);
  }

  void Take(HttpLoop::Accepted accepted) {
    HttpCommon& common = *parts_.common;
    const int64_t most = common.options.max_connections > 0 ? common.options.max_connections : MostConnections();
    // The system gives new descriptors the lowest free number, so a high number means that nearly all lower numbers are
    // in use.
    const bool is_full = common.options.max_connections > 0 ? parts_.Load() >= most : accepted.socket.get() >= most;
    if (accepted.address.ss_family != AF_UNIX) {
      accepted.is_from_proxy = std::any_of(common.proxies.begin(), common.proxies.end(),
                                           [&](const Network& each) { return each.Contains(accepted.address); });
      if (!accepted.is_from_proxy) {
        AddressLimits::Admission admission =
            common.addresses->Admit(AddressKeyOf(accepted.address), loop().shared_now());
        if (admission.account == nullptr) return parts_.Refuse(admission.refused, accepted);
        accepted.account = std::move(admission.account);
      }
    }
    if (!is_full) return parts_.LeastLoaded().Adopt(std::move(accepted));
    parts_.replacing.fetch_add(1, std::memory_order_relaxed);
    parts_.Replace(std::make_shared<HttpLoop::Accepted>(std::move(accepted)), NextLoop());
  }

  size_t NextLoop() { return next_loop_++ % parts_.loops.size(); }

  Parts& parts_;
  size_t next_loop_ = 0;  // the loops close idle connections in turn
};

HttpLoop& HttpServer::Parts::LeastLoaded() {
  return **std::min_element(loops.begin(), loops.end(),
                            [](const auto& one, const auto& other) { return one->load() < other->load(); });
}

int64_t HttpServer::Parts::Load() const {
  int64_t load = replacing.load(std::memory_order_relaxed);
  for (const auto& each : loops) load += each->load();
  return load;
}

void HttpServer::Parts::Refuse(CloseReason reason, const HttpLoop::Accepted& accepted) const {
  if (common->options.observer == nullptr) return;
  common->options.observer->OnRefused(reason);
  common->options.observer->OnCutOff(reason, AddressText(accepted.address), "");
}

void HttpServer::Parts::Replace(std::shared_ptr<HttpLoop::Accepted> accepted, size_t first, size_t tried) {
  if (tried == loops.size()) {
    Refuse(CloseReason::kConnectionLimit, *accepted);
    replacing.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  HttpLoop& loop = *loops[(first + tried) % loops.size()];
  const auto replace = [this, &loop, accepted, first, tried] {
    if (!loop.CloseIdlest()) return Replace(accepted, first, tried + 1);
    loop.Adopt(std::move(*accepted));
    replacing.fetch_sub(1, std::memory_order_relaxed);
  };
  loop.events().IsThisThread() ? replace() : loop.events().Post(replace);
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
  Shutdown(absl::Seconds(1));
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, HttpHandler handler) {
  auto parts = std::make_unique<Parts>();
  ASSIGN_OR_RETURN(parts->common, MakeCommon(options, std::move(handler)));
  std::vector<FileDescriptor> listening;
  if (!options.listen.empty()) {
    ASSIGN_OR_RETURN(const TcpListening tcp, ListenOnTcp(options.listen, options.purpose, options.keepalive_timeout));
    for (const int each : tcp.sockets) listening.emplace_back(each);
    parts->address = tcp.address;
  }
  if (!options.socket.empty()) {
    ASSIGN_OR_RETURN(
        parts->socket,
        UnixListening::Open(options.socket, options.socket_purpose.empty() ? options.purpose : options.socket_purpose));
    listening.push_back(parts->socket->TakeSocket());
  }
  const int loops = std::max(options.loops, 1);
  for (int i = 0; i < loops; ++i) {
    ASSIGN_OR_RETURN(parts->loops.emplace_back(), HttpLoop::Make(parts->common));
  }
  RETURN_IF_ERROR(parts->common->workers->Start());
  if (parts->common->handshakers != nullptr) RETURN_IF_ERROR(parts->common->handshakers->Start());
  Parts& all = *parts;
  RETURN_IF_ERROR(all.loops.front()->Start([&all] {
    for (const auto& each : all.acceptors) each->Await(true, false);
  }));
  for (int i = 1; i < loops; ++i) RETURN_IF_ERROR(all.loops[static_cast<size_t>(i)]->Start(nullptr));
  HttpLoop& first = *parts->loops.front();
  for (FileDescriptor& each : listening) {
    auto acceptor = std::make_shared<Parts::Acceptor>(first, std::move(each), *parts);
    first.events().Post([&all, acceptor] {
      all.acceptors.push_back(acceptor);
      acceptor->Await(true, false);
    });
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

const std::string& HttpServer::address() const {
  return parts_->address;
}

const std::string& HttpServer::socket_address() const {
  static const std::string kNone;
  return parts_->socket == nullptr ? kNone : parts_->socket->address();
}

int64_t HttpServer::connections() const {
  return parts_->common->open.load(std::memory_order_relaxed);
}

int64_t HttpServer::unsent_bytes() const {
  return parts_->common->unsent.load(std::memory_order_relaxed);
}

std::vector<HttpConnectionStatus> HttpServer::Describe(size_t most) const {
  using List = std::vector<HttpConnectionStatus>;
  std::vector<std::pair<std::shared_ptr<const List>, std::future<void>>> lists;
  for (const auto& loop : parts_->loops) {
    const auto here = std::make_shared<List>();
    auto visit = [here, most](HttpConnection& each) {
      here->push_back(each.Describe());
      if (here->size() >= 2 * most + kDescribedAtOnce) KeepLargest(most, *here);
    };
    lists.emplace_back(here, loop->Visit(std::move(visit)));
  }
  const auto deadline = std::chrono::steady_clock::now() + kDescribePatience;
  List all;
  for (const auto& [here, visited] : lists) {
    // After a timeout, the loop may still write to `here`.
    if (visited.wait_until(deadline) == std::future_status::ready) all.insert(all.end(), here->begin(), here->end());
  }
  KeepLargest(most, all);
  return all;
}

void HttpServer::StartLeaving() {
  if (parts_->common->is_leaving.exchange(true)) return;
  for (const auto& loop : parts_->loops) {
    loop->Visit([](HttpConnection& each) { each.StartLeaving(CloseReason::kShutdown); }).wait();
  }
}

void HttpServer::Shutdown(absl::Duration grace) {
  if (std::exchange(parts_->is_shut_down, true)) return;
  parts_->common->is_shutting_down.store(true, std::memory_order_relaxed);
  if (parts_->socket != nullptr) parts_->socket->Unlink();
  std::promise<void> stopped;
  parts_->loops.front()->events().Post([&] {
    for (const auto& each : parts_->acceptors) each->Stop();
    parts_->acceptors.clear();
    stopped.set_value();
  });
  stopped.get_future().wait();
  for (const auto& each : parts_->loops) each->StartEnding(grace);
  for (const auto& each : parts_->loops) each->Join();
  // Workers that answer now find all connections closed.
  parts_->common->workers.reset();
  parts_->common->handshakers.reset();
}

}  // namespace vitrine
