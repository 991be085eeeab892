// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http_port.h"

#include <algorithm>
#include <string_view>

#include "server/process/crash_stack.h"
#include "server/process/out_of_memory.h"

namespace vitrine {
namespace {

// The first of the names that a path is made of, in whose place slashes may be several.
std::string_view FirstName(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path.substr(0, path.find('/'));
}

}  // namespace

HttpResponse HttpPort::Serve(HttpRequest& request) {
  return FirstName(request.path()) == "v1" ? classify_.Serve(request) : oip_.Serve(request);
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpPort(const HttpServerOptions& options, ClassifyService& service,
                                                          Registry& registry, const Identity& identity,
                                                          Health& health) {
  const auto port = std::make_shared<HttpPort>(service, registry, identity, health);
  HttpServerOptions told = options;
  told.out_of_memory = CountOutOfMemory;
  return HttpServer::Start(told, [port](HttpRequest& request) {
    const CrashHandlerStack crash_stack;
    return port->Serve(request);
  });
}

}  // namespace vitrine
