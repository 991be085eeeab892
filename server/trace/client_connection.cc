// SPDX-License-Identifier: Apache-2.0
#include "server/trace/client_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/process/clock.h"

namespace vitrine {
namespace {

constexpr char kSystemAuthorities[] = "/etc/ssl/certs/ca-certificates.crt";

absl::Status Unavailable(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(error)));
}

bool IsReadable(int file) {
  pollfd waiting = {.fd = file, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) != 0;
}

// Makes a context that trusts $SSL_CERT_FILE and $SSL_CERT_DIR or, if neither is set, the system's CA file. This file
// is named explicitly, because OpenSSL's default folder, /usr/lib/ssl, does not exist in a container image.
SSL_CTX* MakeTlsContext() {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_verify_paths(context);
  const bool is_named = std::getenv("SSL_CERT_FILE") != nullptr || std::getenv("SSL_CERT_DIR") != nullptr;
  if (!is_named) (void)SSL_CTX_load_verify_file(context, kSystemAuthorities);
  return context;
}

// Requires that the server's certificate is valid for the host. If the host is a name, also sends it as SNI.
bool ExpectHost(SSL* tls, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  const bool is_address =
      inet_pton(AF_INET, host.c_str(), address.data()) == 1 || inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host.c_str()) == 1;
  return SSL_set1_host(tls, host.c_str()) == 1 && SSL_set_tlsext_host_name(tls, host.c_str()) == 1;
}

}  // namespace

// Address lookup of a host. getaddrinfo cannot be interrupted, so it runs on a separate thread, which is abandoned when
// the result is no longer needed.
struct ClientConnection::Lookup {
  ~Lookup() {
    if (addresses != nullptr) freeaddrinfo(addresses);
  }
  void Run(const HttpUrl& url, int flags) {
    addrinfo hints = {};
    hints.ai_flags = flags;
    hints.ai_socktype = SOCK_STREAM;
    error.store(getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &addresses), std::memory_order_release);
  }
  const FileDescriptor done{eventfd(0, EFD_CLOEXEC)};  // readable once Run has returned on the lookup thread
  std::atomic<int> error = 0;
  addrinfo* addresses = nullptr;  // may be read only after `error` was read
};

ClientConnection::ClientConnection(HttpUrl url)
    : url_(std::move(url)),
      cancelled_(eventfd(0, EFD_CLOEXEC)),
      context_(nullptr, &SSL_CTX_free),
      tls_(nullptr, &SSL_free) {}

ClientConnection::~ClientConnection() {
  Close();
}

void ClientConnection::Close() {
  tls_ = nullptr;
  socket_ = FileDescriptor();
}

void ClientConnection::Cancel() {
  (void)eventfd_write(cancelled_.get(), 1);
}

absl::Status ClientConnection::Open() {
  if (IsReadable(cancelled_.get())) return absl::CancelledError("it was cancelled");
  if (socket_.valid() && !IsReadable(socket_.get())) return absl::OkStatus();
  Close();
  const absl::Status opened = OpenAnew();
  if (!opened.ok()) Close();
  return opened;
}

absl::Status ClientConnection::OpenAnew() {
  const auto lookup = std::make_shared<Lookup>();
  lookup->Run(url_, AI_NUMERICHOST);
  if (lookup->error != 0) RETURN_IF_ERROR(Resolve(lookup));
  int left = 0;
  for (const addrinfo* each = lookup->addresses; each != nullptr; each = each->ai_next) ++left;
  absl::Status connected = absl::UnavailableError("the name has no address");
  for (const addrinfo* each = lookup->addresses; each != nullptr; each = each->ai_next) {
    // Each address gets an equal part of the remaining time, so that an address that does not answer leaves time for
    // the other addresses.
    const absl::Time now = SteadyClock().Now();
    connected = Connect(*each, now + (end_ - now) / left--);
    if (connected.ok() || absl::IsCancelled(connected)) break;
  }
  RETURN_IF_ERROR(connected);
  return url_.is_tls ? Encrypt() : absl::OkStatus();
}

absl::Status ClientConnection::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(const size_t sent, Repeat("the connection broke", POLLOUT, [&] {
                       return tls_ != nullptr
                                  ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                  : static_cast<int>(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
                     }));
    if (sent == 0) return absl::UnavailableError("the connection was closed");
    bytes.remove_prefix(sent);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ClientConnection::Read(char* bytes, size_t most) {
  return Repeat("the connection broke", POLLIN, [&] {
    return tls_ != nullptr ? SSL_read(tls_.get(), bytes, static_cast<int>(most))
                           : static_cast<int>(recv(socket_.get(), bytes, most, 0));
  });
}

absl::Status ClientConnection::Wait(int file, short events, absl::Time end) {
  for (;;) {
    const absl::Duration left = end - SteadyClock().Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("there was no answer before the timeout");
    std::array<pollfd, 2> waiting = {pollfd{file, events, 0}, pollfd{cancelled_.get(), POLLIN, 0}};
    const int most = static_cast<int>(absl::ToInt64Milliseconds(std::min(left, absl::Minutes(1)))) + 1;
    const int ready = poll(waiting.data(), waiting.size(), most);
    if (ready < 0 && errno != EINTR) return Unavailable("poll", errno);
    if (ready > 0 && waiting[1].revents != 0) return absl::CancelledError("it was cancelled");
    if (ready > 0) return absl::OkStatus();
  }
}

absl::Status ClientConnection::Resolve(const std::shared_ptr<Lookup>& lookup) {
  try {
    std::thread([lookup, url = url_] {
      lookup->Run(url, 0);
      (void)eventfd_write(lookup->done.get(), 1);
    }).detach();
  } catch (const std::system_error& error) {
    return Unavailable("a thread cannot be started", error.code().value());
  }
  RETURN_IF_ERROR(Wait(lookup->done.get(), POLLIN, end_));
  const int error = lookup->error.load(std::memory_order_acquire);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(url_.host, ": ", gai_strerror(error)));
}

absl::Status ClientConnection::Connect(const addrinfo& to, absl::Time end) {
  socket_ = FileDescriptor(socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol));
  if (!socket_.valid()) return Unavailable("socket", errno);
  const int on = 1;
  (void)setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(socket_.get(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return Unavailable("cannot connect", errno);
    RETURN_IF_ERROR(Wait(socket_.get(), POLLOUT, end));
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : Unavailable("cannot connect", error);
}

absl::Status ClientConnection::Encrypt() {
  if (context_ == nullptr) context_.reset(MakeTlsContext());
  if (context_ != nullptr) tls_.reset(SSL_new(context_.get()));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket_.get()) != 1 || !ExpectHost(tls_.get(), url_.host)) {
    return absl::UnavailableError("TLS cannot be prepared");
  }
  ASSIGN_OR_RETURN(const size_t done,
                   Repeat("the TLS handshake failed", POLLIN, [this] { return SSL_connect(tls_.get()); }));
  return done > 0 ? absl::OkStatus() : absl::UnavailableError("the TLS handshake failed: the connection was closed");
}

// Repeats `call` until it has a result, and returns this result; 0 means that the server has closed its side. Between
// calls, a plaintext connection waits for `events`, and a TLS connection waits for the events that OpenSSL needs.
absl::StatusOr<size_t> ClientConnection::Repeat(absl::string_view what, short events, absl::FunctionRef<int()> call) {
  for (;;) {
    if (SteadyClock().Now() >= end_) return absl::DeadlineExceededError("there was no answer before the timeout");
    ERR_clear_error();
    errno = 0;
    const int result = call();
    if (result > 0) return static_cast<size_t>(result);
    const int error = errno;
    if (tls_ == nullptr) {
      if (result == 0) return 0;
      if (error != EAGAIN && error != EINTR) return Unavailable(what, error);
    } else {
      const int need = SSL_get_error(tls_.get(), result);
      if (need == SSL_ERROR_ZERO_RETURN) return 0;
      if (need != SSL_ERROR_WANT_READ && need != SSL_ERROR_WANT_WRITE) return TlsFault(what, error);
      events = need == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    }
    RETURN_IF_ERROR(Wait(socket_.get(), events, end_));
  }
}

absl::Status ClientConnection::TlsFault(absl::string_view what, int error) const {
  const auto verified = SSL_get_verify_result(tls_.get());
  const auto reason = ERR_peek_last_error();
  const char* text = error != 0 ? strerror(error) : "the connection was closed";
  if (reason != 0) text = ERR_reason_error_string(reason);
  if (verified != X509_V_OK) text = X509_verify_cert_error_string(verified);
  return absl::UnavailableError(absl::StrCat(what, ": ", text == nullptr ? "for an unknown reason" : text));
}

}  // namespace vitrine
