// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_CONNECTION_H_
#define VITRINE_COMMON_HTTP_CONNECTION_H_

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
#include "common/http/address_limits.h"
#include "common/http/event_loop.h"
#include "common/http/network/byte_stream.h"
#include "common/http/network/network.h"
#include "common/http/server.h"
#include "common/http/workers.h"

namespace vitrine {

class HttpConnection;

// State that all connections of a server share. Constant except for the atomics.
struct HttpCommon {
  HttpServerOptions options;
  HttpHandler handler;
  std::shared_ptr<ByteBudget> received;
  std::vector<Network> proxies;
  std::function<std::shared_ptr<const TlsContext>()> tls;  // thread-safe; null: plaintext
  std::unique_ptr<HttpWorkers> workers;                    // run handlers of bodies and responses
  std::unique_ptr<HttpWorkers> handshakers;                // run TLS handshakes; null without TLS
  std::unique_ptr<AddressLimits> addresses;
  std::atomic<int64_t> open = 0;
  std::atomic<int64_t> unsent = 0;       // bytes of responses not yet passed to the kernel
  std::atomic<bool> is_leaving = false;  // StartLeaving was called
  std::atomic<bool> is_shutting_down = false;
};

// Points for a TLS KeyUpdate, after which both sides derive new keys.
inline constexpr double kKeyUpdatePoints = 16;

// The HTTP version of a connection. All functions run on the loop's thread, none after OnClosed.
class HttpProtocol {
 public:
  virtual ~HttpProtocol() = default;
  // The stream may be readable or writable. Must call HttpConnection::Await for the next event.
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  // Another thread has sent something.
  virtual void OnWoken() = 0;
  // Runs at every tick: handles timeouts.
  virtual void OnTick() = 0;
  // Asks the client to leave; `reason` is reported when the connection closes.
  virtual void StartLeaving(CloseReason reason) = 0;
  // The server shuts down: requests without a complete body are aborted.
  virtual void End() = 0;
  // The connection was closed.
  virtual void OnClosed() = 0;
  virtual bool HasRequests() const = 0;
  // Returns true if it only waits for the client.
  virtual bool AwaitsClient() const { return !HasRequests(); }
  // Returns the time since which the client has not read pending output; nullopt if there is none.
  virtual std::optional<EventLoop::Time> UnsentSince() const = 0;
  virtual HttpConnectionStatus Describe() const = 0;
};

// One client connection: socket, TLS, PROXY header, timeouts and abuse points. All functions run on the loop's thread.
class HttpConnection final : public Watched {
 public:
  using Time = EventLoop::Time;

  // `account` is null for connections that count against no address. `closed` is called once, on closing.
  HttpConnection(EventLoop& loop, FileDescriptor socket, const sockaddr_storage& address,
                 std::shared_ptr<AddressAccount> account, bool is_from_proxy, std::shared_ptr<HttpCommon> common,
                 std::vector<char>& scratch, std::function<void(HttpConnection&)> closed);
  ~HttpConnection() override;

  void Begin();
  void OnTick();
  // Asks the client to leave; closes at once between requests.
  void StartLeaving(CloseReason reason);
  // The server shuts down.
  void End();
  void Close(CloseReason reason);
  // Call after the last response was sent: discards the client's data for a second, at most a megabyte, so that the
  // kernel does not reset the connection before the client has read the response.
  void Linger(CloseReason reason);
  // Charges points of HttpAbuseLimits. Returns false if none are left: close the connection with kAbuse.
  bool Spend(double points);
  // Returns true if it has spent more than a tenth of its points.
  bool IsSuspicious() { return points_.Share(loop().now()) < 0.9; }

  ByteStream& stream() { return *stream_; }
  HttpCommon& common() { return *common_; }
  const std::shared_ptr<const HttpPeer>& peer() const { return peer_; }
  // Read buffer shared by the connections of the loop.
  std::vector<char>& scratch() { return scratch_; }
  HttpProtocol* protocol() { return protocol_.get(); }
  bool IsEncrypted() const { return tls_ != nullptr; }
  bool HasRequests() const { return protocol_ != nullptr && protocol_->HasRequests(); }
  bool AwaitsClient() const { return !is_shaking_ && (protocol_ == nullptr || protocol_->AwaitsClient()); }
  Time opened() const { return opened_; }
  // Time of the last received byte.
  Time last_received() const { return last_received_; }
  void NoteReceived() { last_received_ = loop().now(); }
  void NoteRequestDone() { idle_since_ = loop().now(); }
  HttpConnectionStatus Describe() const;

  size_t place = 0;  // index in the loop's connections

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
  std::unique_ptr<HttpProtocol> protocol_;  // set from kServing on, as long as the connection

  Phase phase_ = Phase::kDetect;
  std::string first_;  // bytes read before the protocol was known
  const Time opened_;
  Time last_received_;
  Time idle_since_;
  Time leaves_ = Time::max();    // time at which it is asked to leave because of its age
  Time given_up_ = Time::max();  // time at which the present phase times out
  bool is_leaving_ = false;
  CloseReason leaving_reason_ = CloseReason::kDone;
  size_t lingering_bytes_ = 0;
  TokenBucket points_;
  double unsettled_points_ = 0;  // not yet charged to the account
  absl::Time certificate_expires_ = absl::InfiniteFuture();
  std::shared_ptr<const TlsContext> trusted_by_;  // context whose authorities trust the client
  Time certificate_checked_ = {};
  // Written by the handshake thread while phase_ is kHandshake and is_shaking_.
  ByteStream::Result shaken_;
  bool is_shaking_ = false;
  std::optional<CloseReason> close_when_shaken_;
};

// Converts a timeout of HttpServerOptions; at most a year.
inline std::chrono::nanoseconds Nanoseconds(absl::Duration duration) {
  return duration >= absl::Hours(24 * 365) ? std::chrono::nanoseconds(std::chrono::hours(24 * 365))
                                           : absl::ToChronoNanoseconds(duration);
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_CONNECTION_H_
