// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http_port.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "server/process/crash_stack.h"
#include "server/process/out_of_memory.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/openapi.h"
#include "server/wire/http/refusal.h"

namespace vitrine {
namespace {

// The first of the names that a path is made of, in whose place slashes may be several.
std::string_view FirstName(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path.substr(0, path.find('/'));
}

}  // namespace

HttpNext HttpPort::Status(const HttpRequest& request) {
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Registry/ListModels", request);
  if (!caller.ok()) return HttpNext::Answer(Refusal(caller.status(), TypedErrorBody));
  return HttpNext::Make([this, caller = *caller] {
    return HttpResponse{.body = page_.status_json(caller), .headers = {{"Cache-Control", "no-store"}}};
  });
}

HttpNext HttpPort::Begin(const std::shared_ptr<HttpRequest>& request) {
  if (std::optional<HttpResponse> told = cors_.Apply(*request)) return HttpNext::Answer(*std::move(told));
  const bool is_get = request->method() == "GET" || request->method() == "HEAD";
  if (is_get && page_.files != nullptr && page_.files->Has(request->path())) {
    // A copy of the file, which may be large, is made one after the other, so that the bound of what is unsent holds.
    return HttpNext::Make([this, request] {
      return *page_.files->Answer(request->method(), request->path(), request->Header("If-None-Match").value_or(""));
    });
  }
  if (is_get && request->path() == "/openapi.json") return HttpNext::Answer({.body = kOpenApiJson});
  if (page_.status_json && is_get && request->path() == "/v1/status") return Status(*request);
  return FirstName(request->path()) == "v1" ? classify_.Begin(request) : oip_.Begin(request);
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpPort(const HttpServerOptions& options,
                                                          std::vector<std::string> cors_origins,
                                                          ClassifyService& service, Registry& registry,
                                                          const Identity& identity, Health& health, HttpPortPage page) {
  const auto port =
      std::make_shared<HttpPort>(std::move(cors_origins), service, registry, identity, health, std::move(page));
  HttpServerOptions told = options;
  told.out_of_memory = CountOutOfMemory;
  told.on_thread = [](const std::function<void()>& run) {
    const CrashHandlerStack crash_stack;
    run();
  };
  return HttpServer::Start(told, [port](const std::shared_ptr<HttpRequest>& request) { return port->Begin(request); });
}

}  // namespace vitrine
