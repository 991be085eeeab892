// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_HTTP_CLIENT_H_
#define VITRINE_SERVER_TRACE_HTTP_CLIENT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/head.h"
#include "server/trace/client_connection.h"
#include "server/trace/http_url.h"

namespace vitrine {

// A blocking HTTP/1.1 client for spans and health checks. libcurl is not used, because it would add 25 libraries. Does
// not support redirects, proxies, cookies or content encodings. Reuses its connection. For use by one thread; only
// Cancel is thread-safe. SIGPIPE must be ignored.
class HttpClient {
 public:
  struct Response {
    int code = 0;
    std::string type;         // content type without parameters
    std::string retry_after;  // the header retry-after; empty if absent
    std::string body;
  };
  static constexpr size_t kMaxBodyBytes = 1 << 20;

  explicit HttpClient(HttpUrl url) : url_(url), connection_(std::move(url)) {}

  // Sends a request and returns the response, with any status code. Sends `headers` in addition to host and, except for
  // GET, content-length. For errors, see ClientConnection; an error comes at the latest after `timeout`. INTERNAL: the
  // response is not HTTP/1.1, or its body is too large. Never sends a request twice.
  absl::StatusOr<Response> Send(absl::string_view method, const HttpHeaders& headers, absl::string_view body,
                                absl::Duration timeout);
  // Cancels the running call of Send and all later calls. Thread-safe.
  void Cancel() { connection_.Cancel(); }

 private:
  absl::StatusOr<Response> ReadResponse();

  const HttpUrl url_;
  ClientConnection connection_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_HTTP_CLIENT_H_
