// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_BYTE_STREAM_H_
#define VITRINE_COMMON_HTTP_NETWORK_BYTE_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/network/tls.h"

namespace vitrine {

// A byte stream to a client, plain or TLS, over a non-blocking socket. Thread-compatible.
class ByteStream {
 public:
  // Result of a call: the number of bytes and the next action. The action is to continue, to wait for an event and
  // repeat the call, or to stop because the client is gone.
  struct Result {
    enum class Next { kGoOn, kAwaitReadable, kAwaitWritable, kGone } next = Next::kGoOn;
    size_t bytes = 0;
  };

  virtual ~ByteStream() = default;
  // Performs a step of the TLS handshake. Call it repeatedly until it returns kGoOn, before all other functions.
  virtual Result Handshake() = 0;
  virtual Result Read(char* bytes, size_t size) = 0;
  // Writes as much as possible of `first` followed by `second`. At least one of them must not be empty.
  virtual Result Write(absl::string_view first, absl::string_view second) = 0;
  // Tells the client that no more data will follow.
  virtual void EndWriting() = 0;
  // Returns true if bytes for Read are already buffered. Then call Read without waiting for the socket.
  virtual bool HasPending() const { return false; }

  // Returns the number of TLS KeyUpdates received since the last call. KeyUpdates cost time and carry no data.
  virtual int TakeKeyUpdates() { return 0; }

  // Returns true if TLS has negotiated HTTP/2. Call after Handshake.
  virtual bool HasChosenHttp2() const { return false; }
  // Returns the names in the client's verified certificate in gRPC's order: alternative names, then the subject. Empty
  // without a certificate.
  virtual std::vector<std::string> CertificateNames() const { return {}; }
  // Returns the earliest expiry time in the client's certificate chain; infinite if there is no certificate.
  virtual absl::Time CertificateExpires() const { return absl::InfiniteFuture(); }
  // Returns true if the authorities in the given context trust the client's certificate, or if the client sent no
  // certificate.
  virtual bool IsTrustedBy(const TlsContext&) const { return true; }
  // Returns true if the handshake failed because the client sent HTTP without TLS: its first byte was an upper-case
  // letter, which begins a method of HTTP and no TLS record. Nothing was read from the socket.
  virtual bool HasSeenPlainHttp() const { return false; }
  // Returns why the handshake failed, in OpenSSL's words ("no shared cipher"). Empty if the client just disconnected.
  virtual std::string Failure() const { return ""; }
};

// Creates a stream over `socket`. The caller owns the socket and must keep it open while the stream exists.
std::unique_ptr<ByteStream> PlainStream(int socket);
std::unique_ptr<ByteStream> TlsStream(int socket, std::shared_ptr<const TlsContext> context);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_NETWORK_BYTE_STREAM_H_
