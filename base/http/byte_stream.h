// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_BYTE_STREAM_H_
#define VITRINE_BASE_HTTP_BYTE_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/http/tls.h"

namespace vitrine {

// Bytes from and to a client over a non-blocking socket, plain or within TLS. Thread-compatible.
class ByteStream {
 public:
  // Result of a call: bytes, or what to wait for before the same call is made again, or that the client is gone.
  struct Result {
    enum class Next { kGoOn, kAwaitReadable, kAwaitWritable, kGone } next = Next::kGoOn;
    size_t bytes = 0;
  };

  virtual ~ByteStream() = default;
  // Once before anything else, again until it returns kGoOn.
  virtual Result Handshake() = 0;
  virtual Result Read(char* bytes, size_t size) = 0;
  // Writes of `first`, or where that is empty of `second`; both are not.
  virtual Result Write(absl::string_view first, absl::string_view second) = 0;
  // Tells the client that nothing more is written.
  virtual void EndWriting() = 0;
  // Tells whether Read has bytes that were received before, so that the socket may not become readable.
  virtual bool HasPending() const { return false; }

  // How many KeyUpdates of TLS the client has sent since the last call: they cost and carry nothing.
  virtual int TakeKeyUpdates() { return 0; }

  // Protocol that TLS has negotiated. After Handshake.
  virtual bool HasChosenHttp2() const { return false; }
  // Names in the client's verified certificate, in gRPC's order: alternative names, then the subject. Empty without
  // one.
  virtual std::vector<std::string> CertificateNames() const { return {}; }
  // When the first certificate of the client's chain expires; infinite without one.
  virtual absl::Time CertificateExpires() const { return absl::InfiniteFuture(); }
  // Tells whether the authorities of that context vouch for the client's certificate; true without one.
  virtual bool IsTrustedBy(const TlsContext&) const { return true; }
  // Tells whether the handshake failed because the client speaks HTTP without TLS.
  virtual bool HasSeenPlainHttp() const { return false; }
};

// Over `socket`, which stays its owner's and outlives it.
std::unique_ptr<ByteStream> PlainStream(int socket);
std::unique_ptr<ByteStream> TlsStream(int socket, std::shared_ptr<const TlsContext> context);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_BYTE_STREAM_H_
