// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http_port.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/http/compress.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/openapi.h"
#include "server/wire/http/refusal.h"

namespace vitrine {
namespace {

// Returns the first path segment; skips leading slashes.
std::string_view FirstName(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path.substr(0, path.find('/'));
}

// A reply that compresses the response, on the thread that calls Send.
class CompressingReply final : public HttpReply {
 public:
  CompressingReply(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply)
      : request_(std::move(request)), reply_(std::move(reply)) {}

  void Send(absl::FunctionRef<HttpResponse()> make) override {
    reply_->Send([&] {
      HttpResponse response = make();
      CompressFor(*request_, response);
      return response;
    });
  }

 private:
  const std::shared_ptr<const HttpRequest> request_;
  const std::shared_ptr<HttpReply> reply_;
};

// Compresses the response that `next` will make, if the request accepts compression. Does not compress a response that
// already exists (see HttpHandling::Answer), because it is small, for example a rejection.
HttpHandling WithCompression(std::shared_ptr<const HttpRequest> request, HttpHandling next) {
  if (next.make) {
    next.make = [request = std::move(request), make = std::move(next.make)] {
      HttpResponse response = make();
      CompressFor(*request, response);
      return response;
    };
  } else if (next.with_body) {
    next.with_body = [request = std::move(request), with_body = std::move(next.with_body)](
                         absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
      with_body(std::move(body), std::make_shared<CompressingReply>(request, std::move(reply)));
    };
  }
  return next;
}

}  // namespace

HttpHandling HttpPort::Status(const HttpRequest& request) {
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Registry/ListModels", request);
  if (!caller.ok()) return HttpHandling::Answer(Refusal(caller.status(), TypedErrorBody));
  return HttpHandling::Make([this, caller = *caller] {
    return HttpResponse{.body = page_.status_json(caller), .headers = {{"Cache-Control", "no-store"}}};
  });
}

HttpHandling HttpPort::Begin(const std::shared_ptr<HttpRequest>& request) {
  return WithCompression(request, Route(request));
}

HttpHandling HttpPort::Route(const std::shared_ptr<HttpRequest>& request) {
  if (std::optional<HttpResponse> told = cors_.Apply(*request)) return HttpHandling::Answer(*std::move(told));
  const std::string& path = request->path();
  const bool is_file = page_.files != nullptr && page_.files->Has(path);
  const bool is_document = path == "/openapi.json";
  const bool is_status = page_.status_json != nullptr && path == "/v1/status";
  if (!is_file && !is_document && !is_status) {
    if (path == "/v1/embeddings") return embeddings_.Begin(request);
    return FirstName(path) == "v1" ? classify_.Begin(request) : oip_.Begin(request);
  }
  if (request->method() != "GET" && request->method() != "HEAD") {
    return HttpHandling::Answer(MethodNotAllowed("GET, HEAD", TypedErrorBody));
  }
  if (is_status) return Status(*request);
  if (is_document) return HttpHandling::Make([] { return HttpResponse{.body = kOpenApiJson}; });
  // Make() runs the lambda, which copies the file, on a worker thread: files are large, and a copy would delay the
  // connection's thread.
  return HttpHandling::Make([this, request] {
    return *page_.files->Answer(request->method(), request->path(), request->Header("If-None-Match").value_or(""),
                                request->Header("Accept-Encoding").value_or(""));
  });
}

}  // namespace vitrine
