// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_ARRIVED_REQUEST_H_
#define VITRINE_BASE_HTTP_ARRIVED_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/connections.h"
#include "base/http/head.h"
#include "base/http/server.h"

namespace vitrine {

// What the requests of one server share. Thread-safe.
struct HttpBodies {
  std::atomic<int64_t> bytes = 0;    // of those that are read or worked on
  std::atomic<bool> ending = false;  // they are not waited for any more
};

// A request whose head has come on a connection, and whose body comes when it is read.
class ArrivedRequest : public HttpRequest {
 public:
  // Requires connection.head to be there. All of them outlive the request.
  ArrivedRequest(HttpConnection& connection, const HttpServerOptions& options, HttpBodies& bodies)
      : connection_(connection), options_(options), bodies_(bodies) {}
  ~ArrivedRequest() override { bodies_.bytes.fetch_sub(taken_, std::memory_order_relaxed); }
  ArrivedRequest(const ArrivedRequest&) = delete;
  ArrivedRequest& operator=(const ArrivedRequest&) = delete;

  const std::string& method() const override { return head().method; }
  const std::string& path() const override { return head().path; }
  const std::string& query() const override { return head().query; }
  std::string peer() const override { return connection_.Peer(); }
  std::optional<std::string> Header(const std::string& name) const override { return head().Header(name); }
  absl::StatusOr<std::string> ReadBody() override;

  // Nothing of the body is left unread on the connection, which may serve the next request.
  bool read_all() const { return read_all_ || !head().AnnouncesBody(); }

 private:
  const HttpHead& head() const { return *connection_.head; }
  bool IsCompressed() const;
  absl::Status CheckBody();
  // Of the bytes that bodies may take, until the request dies.
  absl::Status TakeRoom(int64_t bytes);
  // What is missing of the body from its byte `read` on.
  absl::Status Receive(std::string& body, size_t read);

  HttpConnection& connection_;
  const HttpServerOptions& options_;
  HttpBodies& bodies_;
  int64_t taken_ = 0;  // of bodies_.bytes
  bool read_all_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_ARRIVED_REQUEST_H_
