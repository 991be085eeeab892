// SPDX-License-Identifier: Apache-2.0
#include "client/lib/channel.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "client/lib/connect/address.h"
#include "client/lib/connect/proxy.h"
#include "client/lib/connect/token.h"
#include "client/lib/status.h"
#include "client/lib/tls.h"
#include "common/status_macros.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine {
namespace {

constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);
constexpr absl::string_view kLasting = "vitrine/lasting";  // payload of an error for which IsLasting returns true

// Round robin over the servers whose health service reports SERVING. A replica that is loading its models or shutting
// down gets no request. A server without the health service counts as serving.
constexpr char kBalanced[] =
    R"({"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"vitrine.v1.Classifier"}})";

absl::StatusOr<std::optional<Proxy>> ProxyFor(const ServerAddress& address) {
  if (address.local || address.host.empty()) return std::nullopt;
  return ProxyOf(address.host);
}

// Returns the part of an error message that names the proxy on the way to the server; empty if there is no proxy.
std::string WayTo(const ClientOptions& options) {
  const absl::StatusOr<ServerAddress> address = ParseAddress(options.address);
  if (!address.ok()) return "";
  const absl::StatusOr<std::optional<Proxy>> proxy = ProxyFor(*address);
  if (!proxy.ok() || !proxy->has_value()) return "";
  return absl::StrCat(" through the proxy ", (*proxy)->name, "; with no_proxy=", address->host,
                      " the connection is direct");
}

absl::Status AddAddress(const ClientOptions& options, const ServerAddress& address, grpc::ChannelArguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<Proxy> proxy, ProxyFor(address));
  if (proxy.has_value()) {
    arguments.SetString(GRPC_ARG_HTTP_PROXY, proxy->url);  // gRPC itself would ignore a variable without http://
  } else {
    // Disables gRPC's own use of a proxy. Otherwise gRPC would send local traffic to $http_proxy, pass a list of
    // servers to the proxy as one name, and ignore the networks in $no_proxy.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  if (address.balanced) arguments.SetServiceConfigJSON(kBalanced);
  if (options.tls.has_value() && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  } else if (!address.hosts.empty()) {
    // By default, gRPC would send the whole list of servers as the authority.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, address.hosts.front());
  }
  return absl::OkStatus();
}

// Returns true if gRPC's message says that the port uses another protocol.
bool IsNoGrpc(const std::string& detail) {
  const std::string lower = absl::AsciiStrToLower(detail);
  return absl::StrContains(lower, "http1.x server") || absl::StrContains(lower, "failed parsing http/2") ||
         absl::StrContains(lower, "expected settings frame as the first frame");
}

// Returns true if gRPC's message names a fault of TLS that another attempt would not change. If the address has several
// servers, returns false, because another server may answer the next attempt.
bool IsLastingTls(const std::string& detail) {
  const std::string lower = absl::AsciiStrToLower(detail);
  if (absl::StrContains(lower, "connections to all backends failing")) return false;
  for (const char* words : {"certificate verify failed", "certificate_verify_failed", "peer name",
                            "wrong version number", "certificate required", "handshake failure"}) {
    if (absl::StrContains(lower, words)) return true;
  }
  return false;
}

// Returns true if a TCP connection failed with an error that is impossible for TCP. gRPC 1.51 reads errno only after it
// has called other functions. An error of such a call, for example of malloc in a system without /sys, then ends the
// connection.
bool IsOfAnotherCall(absl::string_view detail, const ClientOptions& options) {
  return absl::StrContains(detail, "no such socket") && !absl::StartsWith(options.address, "unix:");
}

// Makes one call without wait_for_ready, because only a call returns the cause of a failed connection.
absl::Status WhyNot(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  v1::ListModelsResponse ignored;
  const grpc::Status status = v1::Registry::NewStub(channel)->ListModels(&context, {}, &ignored);
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return absl::OkStatus();  // the server answered after all
  if (IsNoGrpc(status.error_message())) {
    return absl::UnimplementedError(absl::StrCat(
        "the server at ", options.address,
        " does not speak gRPC; give the host:port of vitrine-server --listen, or for an Admin call that of --admin"));
  }
  absl::Status unreachable = absl::UnavailableError(
      absl::StrCat("no server answers at ", options.address, WayTo(options), CauseOf(status.error_message(), options)));
  if (options.tls.has_value() && IsLastingTls(status.error_message())) unreachable.SetPayload(kLasting, absl::Cord());
  return unreachable;
}

}  // namespace

std::string CauseOf(const std::string& detail, const ClientOptions& options) {
  const std::string lower = absl::AsciiStrToLower(detail);
  const auto says = [&](const char* words) { return absl::StrContains(lower, words); };
  const bool closed = says("socket closed") || says("reset by peer") || says("endpoint read failed");
  if (options.tls.has_value()) {
    const TlsOptions& tls = *options.tls;
    if (says("certificate verify failed") || says("certificate_verify_failed")) {
      return tls.ca_file.empty() ? ": its certificate is not signed by a CA that this system trusts"
                                 : absl::StrCat(": ", tls.ca_file, " has no CA that signed its certificate");
    }
    if (says("peer name")) {
      return absl::StrCat(": its certificate is for another name",
                          tls.server_name.empty() ? "" : absl::StrCat(" than ", tls.server_name));
    }
    if (says("wrong version number")) return ": it does not speak TLS";
    if (closed || says("certificate required") || says("handshake failure")) {
      return tls.certificate_file.empty() ? ": it ended the TLS handshake; it may require a client certificate"
                                          : absl::StrCat(": it does not accept the certificate ", tls.certificate_file);
    }
  } else if (closed || says("endpoint closing") || says("goaway")) {
    return ": it closed the connection; it may require TLS";
  }
  if (says("dns resolution failed") || says("c-ares status")) return ": its name has no address";
  if (says("no such file or directory")) return ": there is no such socket";
  if (says("permission denied")) return ": permission denied";
  return "";
}

bool IsLasting(const absl::Status& status) {
  return status.GetPayload(kLasting).has_value();
}

absl::StatusOr<std::shared_ptr<BearerToken>> TokenOf(const ClientOptions& options) {
  ASSIGN_OR_RETURN(const ServerAddress address, ParseAddress(options.address));
  if (options.token.empty() && options.token_file.empty()) return nullptr;
  if (!options.tls.has_value() && !address.local) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token would cross the network to ", options.address, " unencrypted; use TLS"));
  }
  return options.token.empty() ? BearerToken::FromFile(options.token_file) : BearerToken::FromText(options.token);
}

absl::StatusOr<std::string> TargetOf(const ClientOptions& options) {
  ASSIGN_OR_RETURN(ServerAddress address, ParseAddress(options.address));
  if (address.hosts.empty()) return std::move(address.uri);
  return ResolveHosts(address.hosts);
}

grpc::ChannelArguments ClientArguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(static_cast<int>(options.max_request_bytes));
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_response_bytes));
  arguments.SetUserAgentPrefix("vitrine-client");
  // Reconnects to a restarted server within seconds. gRPC's own backoff would grow to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 250);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  if (options.keepalive > absl::ZeroDuration()) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(options.keepalive)));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(kKeepaliveTimeout)));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return arguments;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& target, const ClientOptions& options,
                                                         grpc::ChannelArguments arguments,
                                                         std::shared_ptr<BearerToken> token) {
  ASSIGN_OR_RETURN(const ServerAddress address, ParseAddress(options.address));
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.tls.has_value()) {
    ASSIGN_OR_RETURN(credentials, TlsCredentials(*options.tls));
  }
  RETURN_IF_ERROR(AddAddress(options, address, arguments));
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (token != nullptr) interceptors.push_back(Authorizing(std::move(token)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments,
                                                                 std::move(interceptors));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<BearerToken> token, TokenOf(options));
  ASSIGN_OR_RETURN(const std::string target, TargetOf(options));
  return ChannelTo(target, options, ClientArguments(options), std::move(token));
}

absl::Status WaitUntilConnected(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options) {
  const auto deadline = absl::ToChronoTime(absl::Now() + options.connect_timeout);
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      const absl::Status why = WhyNot(channel, options);
      // gRPC connects again by itself, after a second.
      if (why.ok() || state == GRPC_CHANNEL_SHUTDOWN || !IsOfAnotherCall(why.message(), options)) return why;
    }
    if (!channel->WaitForStateChange(state, deadline)) {
      return absl::UnavailableError(absl::StrCat("no server answered at ", options.address, " within ",
                                                 absl::FormatDuration(options.connect_timeout), WayTo(options)));
    }
    state = channel->GetState(true);
  }
  return absl::OkStatus();
}

}  // namespace vitrine
