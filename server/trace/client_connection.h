// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_CLIENT_CONNECTION_H_
#define VITRINE_SERVER_TRACE_CLIENT_CONNECTION_H_

#include <netdb.h>
#include <openssl/types.h>

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/file/descriptor.h"
#include "server/trace/http_url.h"

namespace vitrine {

// A blocking client connection over TCP or TLS with a deadline. Open, Write and Read return UNAVAILABLE if there is no
// connection or the connection breaks, DEADLINE_EXCEEDED after the time given to SetEnd, and CANCELLED if Cancel ends
// their wait. For use by one thread; only Cancel is thread-safe. SIGPIPE must be ignored.
class ClientConnection {
 public:
  // The constructor does not connect; Open does. TLS trusts $SSL_CERT_FILE and $SSL_CERT_DIR or, if neither is set, the
  // system's CA certificates.
  explicit ClientConnection(HttpUrl url);
  ~ClientConnection();

  void SetEnd(absl::Time end) { end_ = end; }  // `end` is a time of SteadyClock()
  // Connects, or keeps the existing connection if the server has not closed it.
  absl::Status Open();
  void Close();
  // Writes all bytes.
  absl::Status Write(absl::string_view bytes);
  // Reads at least one byte. Returns 0 if the server has closed its side.
  absl::StatusOr<size_t> Read(char* bytes, size_t most);
  // Ends the current wait, later waits and later calls of Open with CANCELLED. Thread-safe.
  void Cancel();

 private:
  struct Lookup;

  absl::Status OpenAnew();
  absl::Status Wait(int file, short events, absl::Time end);
  absl::Status Resolve(const std::shared_ptr<Lookup>& lookup);
  absl::Status Connect(const addrinfo& to, absl::Time end);
  absl::Status Encrypt();
  absl::StatusOr<size_t> Repeat(absl::string_view what, short events, absl::FunctionRef<int()> call);
  absl::Status TlsFault(absl::string_view what, int error) const;

  const HttpUrl url_;
  const FileDescriptor cancelled_;  // an eventfd, which is readable once Cancel was called
  absl::Time end_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  FileDescriptor socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> tls_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_CLIENT_CONNECTION_H_
