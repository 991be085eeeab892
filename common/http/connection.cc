// SPDX-License-Identifier: Apache-2.0
#include "common/http/connection.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/time/clock.h"
#include "common/http/network/proxy_header.h"
#include "common/http/protocol/http1.h"
#include "common/http/protocol/http2.h"

namespace vitrine {
namespace {

using Next = ByteStream::Result::Next;

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr absl::string_view kPlainHttpRefusal =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 46\r\nConnection: close\r\n\r\n"
    "this port speaks HTTPS; ask for https:// here\n";
constexpr std::chrono::milliseconds kLingerTime{1000};
// During shutdown, this time replaces kLingerTime and limits the wait for the first request of a connection. A client
// on a busy machine may need this time to read GOAWAY, and loses its next request otherwise. A client that closes its
// connection ends the wait.
constexpr std::chrono::milliseconds kLastWait{500};
// Maximum number of bytes of the read that detects the protocol. HTTP/1 may keep them while it answers the first
// request.
constexpr size_t kFirstBytes = size_t{16} << 10;
constexpr size_t kLingerBytes = size_t{1} << 20;
constexpr size_t kLingerBodyBytes = size_t{64} << 20;
constexpr std::chrono::seconds kCertificateCheck{1};
// Maximum time for open requests once the certificate of the client is no longer valid or trusted.
constexpr absl::Duration kCertificateGrace = absl::Seconds(2);
// Points (see HttpAbuseLimits) are charged to the address's account in steps of this size, so that the connections of
// the address rarely wait for the account's lock.
constexpr double kSettledAtOnce = 64;
constexpr double kSharedFactor = 3;
// A connection that has at least this share of its own points left stays open, even if its address has no points left.
constexpr double kUnsuspicious = 0.5;
// Share of the usual points that a new connection starts with if its address has no points left.
constexpr double kSuspiciousStart = 0.01;

// Maximum size of a response body that is sent even if too many bytes are unsent. Errors and answers to probes are
// smaller.
constexpr size_t kSmallBody = size_t{4} << 10;

}  // namespace

void HttpCommon::LimitUnsent(const HttpRequest* request, HttpResponse& response) const {
  if (request != nullptr && request->method() == "HEAD") return;  // no body is sent
  if (response.held != nullptr && response.code < 400) return;
  if (response.body.size() <= kSmallBody || unsent.load(std::memory_order_relaxed) <= options.max_unsent_bytes) return;
  response = {.code = 503,
              .type = kPlainText,
              .body = "too many bytes of answers wait for clients that do not read; try again\n",
              .headers = {{"retry-after", "1"}}};
}

std::chrono::nanoseconds SpreadAge(absl::Duration age) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  return age == absl::InfiniteDuration() ? Nanoseconds(age) : Nanoseconds(age * factor(random));
}

HttpConnection::HttpConnection(EventLoop& loop, FileDescriptor socket, const sockaddr_storage& address,
                               std::shared_ptr<AddressAccount> account, bool is_from_proxy,
                               std::shared_ptr<HttpCommon> common, std::vector<char>& scratch,
                               std::function<void(HttpConnection&)> closed)
    : Watched(loop, std::move(socket)),
      common_(std::move(common)),
      tls_(address.ss_family == AF_UNIX || common_->tls == nullptr ? nullptr : common_->tls()),
      scratch_(scratch),
      closed_(std::move(closed)),
      address_(address),
      account_(std::move(account)),
      is_from_proxy_(is_from_proxy),
      stream_(tls_ == nullptr ? PlainStream(descriptor()) : TlsStream(descriptor(), tls_)),
      making_peer_(std::make_shared<HttpPeer>()),
      opened_(loop.now()),
      last_received_(opened_),
      idle_since_(opened_),
      leaves_(opened_ + SpreadAge(common_->options.max_age)),
      given_up_(opened_ + Nanoseconds(common_->options.request_timeout)),
      points_(common_->options.abuse.connection_burst, common_->options.abuse.connection_rate, opened_),
      trusted_by_(tls_) {
  common_->open.fetch_add(1, std::memory_order_relaxed);
}

HttpConnection::~HttpConnection() = default;

void HttpConnection::Begin() {
  if (account_ != nullptr && !account_->Spend(0, loop().shared_now())) points_.Cap(kSuspiciousStart);
  NameClient();
  making_peer_->is_encrypted = IsEncrypted();
  if (address_.ss_family == AF_UNIX) {
    ucred peer = {};
    socklen_t size = sizeof(peer);
    if (getsockopt(descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) making_peer_->uid = peer.uid;
  }
  phase_ = Phase::kProxy;
  if (!is_from_proxy_) return BeginHandshake();
  Await(true, false);
}

void HttpConnection::NameClient() {
  const AddressKey network = AddressKeyOf(address_);
  making_peer_->address = AddressText(address_);
  making_peer_->network.assign(network.begin(), network.end());
}

void HttpConnection::OnReady(bool readable, bool writable, bool failed) {
  switch (phase_) {
    case Phase::kProxy:  // closes a failed connection, which epoll would otherwise report again in every round
      return failed ? Close(CloseReason::kClient) : ReadProxy();
    case Phase::kHandshake:
      return ContinueHandshake();
    case Phase::kDetect:
      return Detect();
    case Phase::kServing:
      return protocol_->OnReady(readable, writable, failed);
    case Phase::kLingering:
      const ByteStream::Result result = stream_->Read(scratch_.data(), scratch_.size());
      lingering_bytes_ += result.bytes;
      if (const int updates = stream_->TakeKeyUpdates(); updates > 0 && !Spend(kKeyUpdatePoints * updates)) {
        return Close(CloseReason::kAbuse);
      }
      if (result.bytes > 0) given_up_ = std::min(lingers_until_, loop().now() + kLingerTime);
      if (result.next == Next::kGone || failed || lingering_bytes_ > most_lingering_bytes_) Close(leaving_reason_);
  }
}

void HttpConnection::OnWoken() {
  if (phase_ == Phase::kHandshake && is_shaking_) return EndHandshake();
  if (phase_ == Phase::kServing) protocol_->OnWoken();
}

// Peeks at the header before reading it, because the bytes after the header belong to TLS.
void HttpConnection::ReadProxy() {
  char bytes[kMaxProxyHeaderBytes];
  const ssize_t seen = recv(descriptor(), bytes, sizeof(bytes), MSG_PEEK);
  if (seen == 0 || (seen < 0 && errno != EAGAIN && errno != EINTR)) return Close(CloseReason::kClient);
  if (seen < 0) return;
  const absl::StatusOr<ProxyHeader> header = ReadProxyHeader(absl::string_view(bytes, static_cast<size_t>(seen)));
  // The incomplete header stays in the socket, which therefore stays readable. Waiting for a readable socket would end
  // at once, so OnTick tries again instead.
  if (absl::IsUnavailable(header.status())) return Await(false, false);
  if (!header.ok()) return Close(CloseReason::kProtocol);
  if (header->bytes > 0) (void)recv(descriptor(), bytes, header->bytes, 0);
  if (header->client.has_value()) {
    address_ = *header->client;
    NameClient();
    AddressLimits::Admission admission = common_->addresses->Admit(AddressKeyOf(address_), loop().shared_now());
    if (admission.account == nullptr) return Close(admission.refused);
    account_ = std::move(admission.account);
    if (!account_->Spend(0, loop().shared_now())) points_.Cap(kSuspiciousStart);
  }
  BeginHandshake();
}

void HttpConnection::BeginHandshake() {
  phase_ = tls_ == nullptr ? Phase::kDetect : Phase::kHandshake;
  if (tls_ != nullptr && account_ != nullptr && !account_->Handshake(loop().shared_now())) {
    return Close(CloseReason::kHandshakeRate);
  }
  Await(true, false);
}

// Starts a step of the handshake on another thread, because a signature takes a millisecond, which would delay other
// connections.
void HttpConnection::ContinueHandshake() {
  if (is_shaking_) return;
  is_shaking_ = true;
  Ignore();
  auto self = std::static_pointer_cast<HttpConnection>(shared_from_this());
  common_->handshakers->Do(making_peer_->network, [self = std::move(self)] { self->Shake(); });
}

void HttpConnection::Shake() {
  const bool is_late = common_->is_shutting_down.load(std::memory_order_relaxed);
  shaken_ = is_late ? ByteStream::Result{.next = Next::kGone} : stream_->Handshake();
  Wake();
}

void HttpConnection::EndHandshake() {
  is_shaking_ = false;
  if (close_when_shaken_.has_value()) return Close(*close_when_shaken_);
  if (shaken_.next == Next::kAwaitReadable) return Await(true, false);
  if (shaken_.next == Next::kAwaitWritable) return Await(false, true);
  if (shaken_.next == Next::kGone) {
    tls_failure_ = stream_->Failure();
    if (!tls_failure_.empty() && !stream_->HasSeenPlainHttp()) return Close(CloseReason::kTls);
    if (!stream_->HasSeenPlainHttp()) {
      const bool is_late = common_->is_shutting_down.load(std::memory_order_relaxed);
      return Close(is_late ? CloseReason::kShutdown : CloseReason::kClient);
    }
    RefusePlainHttp();
    return Linger(CloseReason::kTls);
  }
  making_peer_->certificate_names = stream_->CertificateNames();
  certificate_expires_ = stream_->CertificateExpires();
  // OpenSSL has checked the certificate when it arrived. It may have expired during the rest of the handshake.
  if (absl::Now() >= certificate_expires_) return Close(CloseReason::kCertificate);
  phase_ = Phase::kDetect;
  if (stream_->HasChosenHttp2()) return Serve("");
  Await(true, false);
  Detect();
}

void HttpConnection::RefusePlainHttp() {
  stream_ = PlainStream(descriptor());
  char first[4] = "";
  const bool is_http2 = recv(descriptor(), first, sizeof(first), MSG_PEEK) == sizeof(first) &&
                        absl::string_view(first, sizeof(first)) == kPreface.substr(0, sizeof(first));
  if (!is_http2) (void)stream_->Write({}, kPlainHttpRefusal);
}

void HttpConnection::Detect() {
  const ByteStream::Result read = stream_->Read(scratch_.data(), kFirstBytes);
  if (const int updates = stream_->TakeKeyUpdates(); updates > 0 && !Spend(kKeyUpdatePoints * updates)) {
    return Close(CloseReason::kAbuse);
  }
  if (read.next == Next::kGone) return Close(CloseReason::kClient);
  if (read.next != Next::kGoOn) return Await(read.next == Next::kAwaitReadable, read.next == Next::kAwaitWritable);
  NoteReceived(read.bytes);
  first_.append(scratch_.data(), read.bytes);
  const size_t compared = std::min(first_.size(), kPreface.size());
  const bool may_be_http2 = absl::string_view(first_).substr(0, compared) == kPreface.substr(0, compared);
  if (may_be_http2 && compared < kPreface.size()) return Detect();
  Serve(std::exchange(first_, std::string()));
}

void HttpConnection::Serve(std::string first) {
  const bool is_http2 = stream_->HasChosenHttp2() || absl::string_view(first).substr(0, kPreface.size()) == kPreface;
  peer_ = std::move(making_peer_);
  // The client may have stayed silent since the handshake.
  if (!HasValidCertificate()) return Close(CloseReason::kCertificate);
  phase_ = Phase::kServing;
  given_up_ = Time::max();
  idle_since_ = loop().now();
  protocol_ = is_http2 ? MakeHttp2(*this, std::move(first)) : MakeHttp1(*this, std::move(first));
  if (is_leaving_ || common_->is_leaving.load(std::memory_order_relaxed)) {
    protocol_->StartLeaving(std::exchange(is_leaving_, true) ? leaving_reason_ : CloseReason::kShutdown);
  }
  if (!is_closed() && phase_ == Phase::kServing) protocol_->OnReady(true, true, false);
  if (is_ending_ && !is_closed() && phase_ == Phase::kServing) protocol_->End();
}

void HttpConnection::OnTick() {
  const Time now = loop().now();
  if (now >= given_up_) {
    if (is_ending_ && phase_ == Phase::kDetect) return Close(CloseReason::kShutdown);
    const bool has_said = phase_ == Phase::kLingering || phase_ == Phase::kServing;
    return Close(has_said ? leaving_reason_ : CloseReason::kHeadTimeout);
  }
  if (phase_ == Phase::kProxy) ReadProxy();
  if (is_closed() || phase_ != Phase::kServing) return;
  const bool has_idled = now - idle_since_ >= Nanoseconds(common_->options.idle_timeout);
  if (!is_leaving_ && now >= leaves_) StartLeaving(CloseReason::kAge);
  if (!is_closed() && !HasRequests() && has_idled) StartLeaving(CloseReason::kIdle);
  if (!is_closed() && now - certificate_checked_ >= kCertificateCheck) {
    certificate_checked_ = now;
    if (!HasValidCertificate()) StartLeaving(CloseReason::kCertificate);
  }
  if (!is_closed() && phase_ == Phase::kServing) protocol_->OnTick();
}

bool HttpConnection::HasValidCertificate() {
  if (tls_ == nullptr || peer_->certificate_names.empty()) return true;
  bool is_valid = absl::Now() < certificate_expires_;
  const std::shared_ptr<const TlsContext> current = common_->tls();
  if (is_valid && current != trusted_by_) is_valid = stream_->IsTrustedBy(*current);
  trusted_by_ = current;
  return is_valid;
}

void HttpConnection::StartLeaving(CloseReason reason) {
  if (phase_ == Phase::kLingering) return;
  is_leaving_ = true;
  leaving_reason_ = reason;
  if (phase_ != Phase::kServing) return;
  if (reason != CloseReason::kShutdown) {
    const absl::Duration grace = common_->options.age_grace;
    const bool is_untrusted = reason == CloseReason::kCertificate;
    given_up_ =
        std::min(given_up_, loop().now() + Nanoseconds(is_untrusted ? std::min(grace, kCertificateGrace) : grace));
  }
  protocol_->StartLeaving(reason);
}

void HttpConnection::End() {
  if (phase_ == Phase::kLingering) return Close(leaving_reason_);
  if (phase_ == Phase::kServing) return protocol_->End();
  if (phase_ != Phase::kDetect) return Close(CloseReason::kShutdown);
  // Does not close yet: the client may be sending its first request, and closing now would reset the connection.
  is_ending_ = true;
  given_up_ = std::min(given_up_, loop().now() + kLastWait);
}

void HttpConnection::Linger(CloseReason reason, bool awaits_body) {
  if (is_closed()) return;
  stream_->EndWriting();
  if (protocol_ != nullptr) protocol_->OnClosed();
  phase_ = Phase::kLingering;
  leaving_reason_ = reason;
  const bool is_late = common_->is_shutting_down.load(std::memory_order_relaxed);
  const bool takes_body = awaits_body && !is_late;
  given_up_ = loop().now() + (is_late ? kLastWait : kLingerTime);
  lingers_until_ = takes_body ? loop().now() + Nanoseconds(common_->options.body_timeout) : given_up_;
  most_lingering_bytes_ = takes_body ? kLingerBodyBytes : kLingerBytes;
  Await(true, false);
}

void HttpConnection::Close(CloseReason reason) {
  if (is_closed()) return;
  if (is_shaking_) {  // the handshake thread still uses the descriptor, so it is closed later
    close_when_shaken_ = reason;
    return;
  }
  if (protocol_ != nullptr && phase_ == Phase::kServing) protocol_->OnClosed();
  if (account_ != nullptr && unsettled_points_ > 0) (void)account_->Spend(unsettled_points_, loop().shared_now());
  CloseDescriptor();
  common_->open.fetch_sub(1, std::memory_order_relaxed);
  if (HttpObserver* const observer = common_->options.observer; observer != nullptr) {
    // Logs before counting, so that a reader who sees the metric finds the line in the log.
    if (IsCutOff(reason)) observer->OnCutOff(reason, AddressText(address_), tls_failure_);
    observer->OnClosed(reason);
  }
  closed_(*this);
}

void HttpConnection::CutOff(CloseReason reason, const char* why) {
  if (phase_ != Phase::kServing || !protocol_->CutOff(reason, why)) Close(reason);
}

bool HttpConnection::Spend(double points) {
  if (address_.ss_family == AF_UNIX) return true;
  const Time now = loop().now();
  bool has_points = points_.Take(points, now);
  unsettled_points_ += points;
  if (account_ != nullptr && unsettled_points_ >= kSettledAtOnce) {
    const double settled = std::exchange(unsettled_points_, 0);
    const bool address_has_points = account_->Spend(settled, loop().shared_now());
    // If the address has no points left, its connections are charged more. So an address with many connections is
    // limited even if each connection spends few points.
    if (!address_has_points) has_points = points_.Take(kSharedFactor * settled, now) && has_points;
    has_points = has_points && (address_has_points || points_.Share(now) >= kUnsuspicious);
  }
  return has_points;
}

HttpConnectionStatus HttpConnection::Describe() const {
  HttpConnectionStatus status = {.peer = AddressText(address_), .protocol = "handshake", .age = absl::ZeroDuration()};
  if (protocol_ != nullptr) {
    status = protocol_->Describe();
    status.peer = peer_->address;
    if (IsEncrypted()) status.protocol += "+tls";
  }
  status.age = absl::FromChrono(loop().now() - opened_);
  status.received_bytes = received_bytes_;
  return status;
}

}  // namespace vitrine
