// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_STREAM_H_
#define VITRINE_BASE_HTTP_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/http/tls.h"

namespace vitrine {

// Bytes from and to a client over a socket that does not block, plain or within TLS. Belongs to one thread at a time.
class HttpStream {
 public:
  // What came of a call: bytes, or what to wait for before the same call is made again, or that the client is gone.
  struct Result {
    enum class Next { kGoOn, kAwaitReadable, kAwaitWritable, kGone } next = Next::kGoOn;
    size_t bytes = 0;
  };

  virtual ~HttpStream() = default;
  // Once before anything else. With kGoOn it is done.
  virtual Result Greet() = 0;
  virtual Result Read(char* bytes, size_t size) = 0;
  // Of `first`, or where that is empty of `second`; both are not.
  virtual Result Write(absl::string_view first, absl::string_view second) = 0;
  // Nothing more is written.
  virtual void EndWriting() = 0;
  // The names of the client's certificate, as gRPC has them: alternative names, then the subject. Empty without one.
  virtual std::vector<std::string> CertificateNames() const { return {}; }
};

// Over `socket`, which stays its owner's and outlives it.
std::unique_ptr<HttpStream> PlainStream(int socket);
// Throws std::bad_alloc if OpenSSL finds no memory.
std::unique_ptr<HttpStream> TlsStream(int socket, const TlsContext& context);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_STREAM_H_
