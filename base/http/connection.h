// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_CONNECTION_H_
#define VITRINE_BASE_HTTP_CONNECTION_H_

#include <sys/socket.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/http/address_limits.h"
#include "base/http/byte_stream.h"
#include "base/http/event_loop.h"
#include "base/http/network.h"
#include "base/http/server.h"
#include "base/http/workers.h"

namespace vitrine {

class HttpConnection;

// HttpCommon is what all connections of a server share. Constant but for the atomics.
struct HttpCommon {
  HttpServerOptions options;
  HttpHandler handler;
  std::shared_ptr<ByteBudget> received;
  std::vector<Network> proxies;
  std::function<std::shared_ptr<const TlsContext>()> tls;  // thread-safe; null: plaintext
  std::unique_ptr<HttpWorkers> workers;                    // for bodies and responses
  std::unique_ptr<HttpWorkers> handshakers;                // for TLS handshakes; null without TLS
  std::unique_ptr<AddressLimits> addresses;
  std::atomic<int64_t> open = 0;
  std::atomic<int64_t> unsent = 0;       // bytes of responses that were made and not handed to the kernel
  std::atomic<bool> is_leaving = false;  // HttpServer::StartLeaving was called
  std::atomic<bool> is_shutting_down = false;
};

// Points of a KeyUpdate of TLS, which takes both sides' keys anew.
inline constexpr double kKeyUpdatePoints = 16;

// HttpProtocol is what is spoken on a connection. Every function is called on the loop's thread, none after OnClosed.
class HttpProtocol {
 public:
  virtual ~HttpProtocol() = default;
  // The connection's stream may be read or written. Chooses what to wait for next (HttpConnection::Await).
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  // Something was sent on another thread.
  virtual void OnWoken() = 0;
  // Every tick: what takes too long is given up.
  virtual void OnTick() = 0;
  // The client is asked to leave: `reason` names why in the end.
  virtual void StartLeaving(CloseReason reason) = 0;
  // The server ends: requests whose bodies have not come are given up.
  virtual void End() = 0;
  // The connection is closed.
  virtual void OnClosed() = 0;
  virtual bool HasRequests() const = 0;
  // Tells whether it waits for the client alone.
  virtual bool AwaitsClient() const { return !HasRequests(); }
  // Since when its client has not taken what is to be sent; nothing where there is nothing.
  virtual std::optional<EventLoop::Time> UnsentSince() const = 0;
  virtual HttpConnectionStatus Describe() const = 0;
};

// One connection of a client: its socket, TLS and PROXY header, how long it may last, and its account of abuse. Every
// function is called on the loop's thread.
class HttpConnection final : public Watched {
 public:
  using Time = EventLoop::Time;

  // `account` is null for connections that count against no address. `closed` is called once, when it is closed.
  HttpConnection(EventLoop& loop, FileDescriptor socket, const sockaddr_storage& address,
                 std::shared_ptr<AddressAccount> account, bool is_from_proxy, std::shared_ptr<HttpCommon> common,
                 std::vector<char>& scratch, std::function<void(HttpConnection&)> closed);
  ~HttpConnection() override;

  void Begin();
  void OnTick();
  // Asks the client to leave, at once if it is between requests.
  void StartLeaving(CloseReason reason);
  // The server ends.
  void End();
  void Close(CloseReason reason);
  // The last response was sent: what the client still sends is read and dropped for a second, a megabyte at most, so
  // that the kernel does not reset the connection under the response.
  void Linger(CloseReason reason);
  // Counts HttpAbuseLimits points. False if there are none left: the connection is to be closed with kAbuse.
  bool Spend(double points);
  // Tells whether it has spent a tenth of them.
  bool IsSuspicious() { return points_.Share(loop().now()) < 0.9; }

  ByteStream& stream() { return *stream_; }
  HttpCommon& common() { return *common_; }
  const std::shared_ptr<const HttpPeer>& peer() const { return peer_; }
  // What is read into, of all connections of the loop.
  std::vector<char>& scratch() { return scratch_; }
  HttpProtocol* protocol() { return protocol_.get(); }
  bool IsEncrypted() const { return tls_ != nullptr; }
  bool HasRequests() const { return protocol_ != nullptr && protocol_->HasRequests(); }
  bool AwaitsClient() const { return !is_shaking_ && (protocol_ == nullptr || protocol_->AwaitsClient()); }
  Time opened() const { return opened_; }
  // Time of the last byte that was received.
  Time last_received() const { return last_received_; }
  void NoteReceived() { last_received_ = loop().now(); }
  void NoteRequestDone() { idle_since_ = loop().now(); }
  HttpConnectionStatus Describe() const;

  size_t place = 0;  // among the loop's connections

 private:
  enum class Phase { kProxy, kHandshake, kDetect, kServing, kLingering };

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  void ReadProxy();
  void BeginHandshake();
  void ContinueHandshake();
  void Shake();
  void EndHandshake();
  void Detect();
  void Serve(std::string first);
  void CheckCertificate();

  const std::shared_ptr<HttpCommon> common_;
  const std::shared_ptr<const TlsContext> tls_;  // null: plaintext
  std::vector<char>& scratch_;
  const std::function<void(HttpConnection&)> closed_;
  sockaddr_storage address_;
  std::shared_ptr<AddressAccount> account_;
  const bool is_from_proxy_;
  const std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<HttpPeer> making_peer_;
  std::shared_ptr<const HttpPeer> peer_;
  std::unique_ptr<HttpProtocol> protocol_;  // from kServing on; lives as long as the connection

  Phase phase_ = Phase::kDetect;
  std::string first_;  // what was read before the protocol was known
  const Time opened_;
  Time last_received_;
  Time idle_since_;
  Time leaves_ = Time::max();    // when it is asked to leave for its age
  Time given_up_ = Time::max();  // when the present phase is
  bool is_leaving_ = false;
  CloseReason leaving_reason_ = CloseReason::kDone;
  size_t lingering_bytes_ = 0;
  TokenBucket points_;
  double unsettled_points_ = 0;  // not taken from the account yet
  absl::Time certificate_expires_ = absl::InfiniteFuture();
  std::shared_ptr<const TlsContext> trusted_by_;  // whose authorities vouch for the client
  Time certificate_checked_ = {};
  // Written by the handshake's thread while phase_ is kHandshake and is_shaking_.
  ByteStream::Result shaken_;
  bool is_shaking_ = false;
  std::optional<CloseReason> close_when_shaken_;
};

// How long a deadline of HttpServerOptions is.
inline std::chrono::nanoseconds Nanoseconds(absl::Duration duration) {
  return duration >= absl::Hours(24 * 365) ? std::chrono::nanoseconds(std::chrono::hours(24 * 365))
                                           : absl::ToChronoNanoseconds(duration);
}

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_CONNECTION_H_
