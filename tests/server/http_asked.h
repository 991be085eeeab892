// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_HTTP_ASKED_H_
#define VITRINE_TESTS_SERVER_HTTP_ASKED_H_

#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/http/exchange.h"

namespace vitrine::testing {

// Returns a request with this method, URL and headers. The text of `url` after "?" is the query.
inline std::shared_ptr<HttpRequest> HeadOf(std::string method, const std::string& url,
                                           const std::map<std::string, std::string>& headers = {}) {
  HttpHead head = {.method = std::move(method),
                   .path = url.substr(0, url.find('?')),
                   .query = url.find('?') == std::string::npos ? "" : url.substr(url.find('?') + 1),
                   .headers = {headers.begin(), headers.end()}};
  return std::make_shared<HttpRequest>(HttpRequest{
      .head = std::move(head), .peer = std::make_shared<HttpPeer>(HttpPeer{.address = "ipv4:127.0.0.1:1"})});
}

// Returns the response to a request with this body, without a connection.
inline HttpResponse AnswerOf(HttpHandling next, absl::StatusOr<std::string> body = std::string()) {
  class Promised final : public HttpReply {
   public:
    void Send(absl::FunctionRef<HttpResponse()> make) override { response.set_value(make()); }
    std::promise<HttpResponse> response;
  };
  if (next.response.has_value()) return *std::move(next.response);
  if (next.make != nullptr) return next.make();
  const auto reply = std::make_shared<Promised>();
  next.with_body(std::move(body), reply);
  return reply->response.get_future().get();
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_HTTP_ASKED_H_
