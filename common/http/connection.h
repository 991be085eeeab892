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

// State shared by all connections of a server. Constant, except for the atomics.
struct HttpCommon {
  HttpServerOptions options;
  HttpHandler handler;
  std::shared_ptr<ByteBudget> received;
  std::vector<Network> proxies;
  std::function<std::shared_ptr<const TlsContext>()> tls;  // thread-safe; null: plaintext
  std::unique_ptr<Workers> workers;                        // threads that run WithBody and Make of HttpHandling
  std::unique_ptr<Workers> handshakers;                    // threads that run TLS handshakes; null without TLS
  std::unique_ptr<AddressLimits> addresses;
  std::atomic<int64_t> open = 0;
  std::atomic<int64_t> unsent = 0;       // bytes of responses not yet passed to the kernel
  std::atomic<bool> is_leaving = false;  // true once StartLeaving was called
  std::atomic<bool> is_shutting_down = false;

  // Replaces a large response with 503 while `unsent` exceeds its limit, except a success with HttpResponse::held.
  // `request` may be null. Thread-safe.
  void LimitUnsent(const HttpRequest* request, HttpResponse& response) const;
};

// Points (see HttpAbuseLimits) that a TLS KeyUpdate costs, because both sides must then derive new keys.
inline constexpr double kKeyUpdatePoints = 16;

// HTTP/1 or HTTP/2 on one connection. All functions run on the loop's thread; none is called after OnClosed.
class HttpProtocol {
 public:
  virtual ~HttpProtocol() = default;
  // Called when the stream may be readable or writable. Must call HttpConnection::Await to wait for the next event.
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  // Called after Watched::Wake, for example if another thread has sent a response.
  virtual void OnWoken() = 0;
  // Called at every tick; handles timeouts.
  virtual void OnTick() = 0;
  // Asks the client to close the connection (GOAWAY, "Connection: close"). `reason` is reported when the connection
  // closes.
  virtual void StartLeaving(CloseReason reason) = 0;
  // Called when the server shuts down. HTTP/1 aborts a request whose body is incomplete; HTTP/2 waits for the body.
  virtual void End() = 0;
  // Ends the connection with a message that gives the reason. Returns false if the protocol has no such message; the
  // caller must then close the connection.
  virtual bool CutOff(CloseReason, const char* /*why*/) { return false; }
  // Called when the connection was closed.
  virtual void OnClosed() = 0;
  virtual bool HasRequests() const = 0;
  // Returns true if the connection only waits for the client.
  virtual bool AwaitsClient() const { return !HasRequests(); }
  // Returns the time since which output has waited for the client to read it; nullopt if no output is waiting.
  virtual std::optional<EventLoop::Time> UnsentSince() const = 0;
  virtual HttpConnectionStatus Describe() const = 0;
};

// A client connection with its socket, TLS, PROXY header, timeouts and the points that its load costs (see
// HttpAbuseLimits). All functions run on the loop's thread.
class HttpConnection final : public Watched {
 public:
  using Time = EventLoop::Time;

  // `account`: account of the client's address. Null for a unix socket and for a trusted proxy, whose PROXY header may
  // give the client's address later. `closed` is called once, when the connection closes.
  HttpConnection(EventLoop& loop, FileDescriptor socket, const sockaddr_storage& address,
                 std::shared_ptr<AddressAccount> account, bool is_from_proxy, std::shared_ptr<HttpCommon> common,
                 std::vector<char>& scratch, std::function<void(HttpConnection&)> closed);
  ~HttpConnection() override;

  void Begin();
  void OnTick();
  // Asks the client to close the connection. If the connection has no request, closes it at once, except if `reason` is
  // kShutdown.
  void StartLeaving(CloseReason reason);
  // Called when the server shuts down. Closes a connection whose PROXY header or TLS handshake is incomplete. If these
  // are complete and the client has sent nothing else, waits up to 0.5 s for its first request.
  void End();
  void Close(CloseReason reason);
  // Closes the connection. Sends an HTTP/2 client a GOAWAY with the reason `why`, if the kernel accepts it at once.
  void CutOff(CloseReason reason, const char* why);
  // Closes the connection after the last response was sent. First discards bytes from the client for one second (during
  // shutdown, half a second), up to 1 MiB. An immediate close would make the kernel reset the connection before the
  // client has read the response. Many clients read only after they have sent their whole body. For them, `awaits_body`
  // raises the limits: discards up to 64 MiB, until no byte arrives for one second, for at most `body_timeout`.
  void Linger(CloseReason reason, bool awaits_body = false);
  // Charges points (see HttpAbuseLimits). Returns false if the limit is exceeded; the caller must then close the
  // connection with kAbuse.
  bool Spend(double points);
  // Returns true if the connection has spent more than a tenth of its points.
  bool IsSuspicious() { return points_.Share(loop().now()) < 0.9; }

  ByteStream& stream() { return *stream_; }
  HttpCommon& common() { return *common_; }
  const std::shared_ptr<const HttpPeer>& peer() const { return peer_; }
  // Returns the read buffer that the connections of the loop share.
  std::vector<char>& scratch() { return scratch_; }
  HttpProtocol* protocol() { return protocol_.get(); }
  bool IsEncrypted() const { return tls_ != nullptr; }
  bool HasRequests() const { return protocol_ != nullptr && protocol_->HasRequests(); }
  bool AwaitsClient() const { return !is_shaking_ && (protocol_ == nullptr || protocol_->AwaitsClient()); }
  Time opened() const { return opened_; }
  // Returns the time at which the last byte was received.
  Time last_received() const { return last_received_; }
  void NoteReceived(size_t bytes) {
    last_received_ = loop().now();
    received_bytes_ += static_cast<int64_t>(bytes);
  }
  void NoteRequestDone() { idle_since_ = loop().now(); }
  HttpConnectionStatus Describe() const;

  size_t place = 0;  // index of this connection in the loop's list of connections

 private:
  enum class Phase { kProxy, kHandshake, kDetect, kServing, kLingering };

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  // Sets address and network of the peer to those of address_.
  void NameClient();
  void ReadProxy();
  void BeginHandshake();
  void ContinueHandshake();
  void Shake();
  void EndHandshake();
  // Tells a client that sent HTTP/1 without TLS that TLS is required. Sends nothing to an HTTP/2 client, because gRPC
  // clients report missing TLS only if the connection closes without HTTP/1 text and GOAWAY.
  void RefusePlainHttp();
  void Detect();
  void Serve(std::string first);
  // Returns false if the client's certificate has expired or its CA has been removed. Returns true for a client without
  // a certificate.
  bool HasValidCertificate();

  const std::shared_ptr<HttpCommon> common_;
  const std::shared_ptr<const TlsContext> tls_;  // null: plaintext
  std::vector<char>& scratch_;
  const std::function<void(HttpConnection&)> closed_;
  sockaddr_storage address_;
  std::shared_ptr<AddressAccount> account_;
  const bool is_from_proxy_;
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<HttpPeer> making_peer_;
  std::shared_ptr<const HttpPeer> peer_;
  std::unique_ptr<HttpProtocol> protocol_;  // set from kServing until the connection is destroyed

  Phase phase_ = Phase::kDetect;
  std::string first_;  // bytes read before the protocol was known
  const Time opened_;
  Time last_received_;
  int64_t received_bytes_ = 0;  // number of bytes that were passed to NoteReceived
  Time idle_since_;
  Time leaves_ = Time::max();    // time at which the client is asked to leave because of max_age
  Time given_up_ = Time::max();  // time at which the connection closes: timeout of the phase, or end of age_grace
  bool is_leaving_ = false;
  bool is_ending_ = false;  // true: End was called before the first byte arrived
  CloseReason leaving_reason_ = CloseReason::kDone;
  size_t lingering_bytes_ = 0;
  size_t most_lingering_bytes_ = 0;
  Time lingers_until_ = {};  // upper limit of given_up_ in kLingering, where each byte postpones given_up_
  TokenBucket points_;
  double unsettled_points_ = 0;  // points not yet charged to the account
  absl::Time certificate_expires_ = absl::InfiniteFuture();
  // context whose authorities last verified the client's certificate
  std::shared_ptr<const TlsContext> trusted_by_;
  Time certificate_checked_ = {};
  // Result of the last step of the handshake. Written by the handshake thread while phase_ is kHandshake and
  // is_shaking_ is true.
  ByteStream::Result shaken_;
  std::string tls_failure_;  // reason why the handshake failed; see ByteStream::Failure
  bool is_shaking_ = false;
  std::optional<CloseReason> close_when_shaken_;
};

// Converts a timeout of HttpServerOptions. Values above one year become one year.
inline std::chrono::nanoseconds Nanoseconds(absl::Duration duration) {
  return duration >= absl::Hours(24 * 365) ? std::chrono::nanoseconds(std::chrono::hours(24 * 365))
                                           : absl::ToChronoNanoseconds(duration);
}

// Varies HttpServerOptions::max_age by up to 10 %, so that clients that connected together do not reconnect together.
// Thread-safe.
std::chrono::nanoseconds SpreadAge(absl::Duration age);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_CONNECTION_H_
