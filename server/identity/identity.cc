// SPDX-License-Identifier: Apache-2.0
#include "server/identity/identity.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/join_faults.h"
#include "common/status_macros.h"
#include "server/identity/guarded_file.h"
#include "server/observe/log.h"

namespace vitrine {
namespace {

constexpr size_t kLongestCertificateName = 256;

// Returns the token in "Bearer TOKEN"; nullopt for all other values.
std::optional<absl::string_view> BearerOf(absl::string_view authorization) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return std::nullopt;
  return absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
}

std::string NameOf(const AuthenticatedIdentity& known) {
  switch (known.kind) {
    case AuthenticatedIdentity::Kind::kToken:
      return absl::StrCat("token:", known.names.front());
    case AuthenticatedIdentity::Kind::kCertificate:
      return absl::StrCat("certificate:", known.names.front().substr(0, kLongestCertificateName));
    case AuthenticatedIdentity::Kind::kUid:
      return absl::StrCat("uid:", known.names.front());
    case AuthenticatedIdentity::Kind::kAnonymous:
      break;
  }
  return kAnonymous;
}

// Type URL of a payload of PERMISSION_DENIED errors; the payload is the caller's name.
constexpr char kCallerUrl[] = "vitrine/caller";

absl::Status PermissionDenied(const AuthenticatedIdentity& known, RpcName rpc, absl::string_view way_out) {
  const std::string name = NameOf(known);
  absl::Status refused =
      absl::PermissionDeniedError(absl::StrCat(name, " may not call ", std::string(rpc.method()), way_out));
  refused.SetPayload(kCallerUrl, absl::Cord(name));
  return refused;
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const uint32_t host = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
    return host >> 24 == 127;
  }
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// Reads and parses a file into `parsed` and `text`, which stay unchanged on an error. The error names the file.
template <typename T, typename Parse>
absl::Status ReadParsed(const char* flag, const std::string& path, Emptiness emptiness, Parse parse,
                        std::optional<T>& parsed, std::string& text) {
  if (path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string read, ReadGuardedFile(flag, path, Guard::kNoOtherWriters, emptiness));
  absl::StatusOr<T> found = parse(read);
  if (!found.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, ": ", std::string(found.status().message())));
  }
  parsed = *std::move(found);
  text = std::move(read);
  return absl::OkStatus();
}

}  // namespace

Caller CallerOf(const absl::StatusOr<Caller>& authorized) {
  if (authorized.ok()) return *authorized;
  Caller caller;
  if (const auto name = authorized.status().GetPayload(kCallerUrl)) caller.name = std::string(*name);
  return caller;
}

bool IsLocalAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const size_t colon = address.rfind(':');
  absl::string_view host = absl::string_view(address).substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(std::string(host).c_str(), nullptr, &hints, &found) != 0) return false;
  bool local = found != nullptr;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) local = local && IsLoopback(*each->ai_addr);
  freeaddrinfo(found);
  return local;
}

absl::Status IdentityOptions::Validate(const std::string& listen, const std::string& admin) const {
  std::vector<std::string> faults;
  if (tls.certificate.empty() != tls.key.empty()) {
    faults.push_back(tls.key.empty() ? "--tls-cert needs --tls-key" : "--tls-key needs --tls-cert");
  }
  if (!tls.client_ca.empty() && !tls.enabled()) faults.push_back("--tls-client-ca needs --tls-cert and --tls-key");
  if (tls.client_certificate_optional && tls.client_ca.empty()) {
    faults.push_back("--tls-client-cert optional needs --tls-client-ca");
  }
  for (const auto& [flag, address] : {std::pair("--listen", listen), std::pair("--admin", admin)}) {
    if (address.empty() || tls.enabled() || IsLocalAddress(address)) continue;
    if (!tokens.empty() && !plaintext_tokens) {
      faults.push_back(absl::StrCat("--tokens would cross the network unencrypted on ", flag, " ", address,
                                    "; give --tls-cert and --tls-key, or --plaintext-tokens behind a proxy that "
                                    "terminates TLS"));
    }
  }
  if (!admin.empty() && !IsLocalAddress(admin) && !takes_credentials()) {
    faults.push_back(absl::StrCat("--admin ", admin,
                                  " is open to the network; give --tokens or --tls-client-ca, or a loopback address or "
                                  "unix:///PATH"));
  }
  return faults.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

absl::StatusOr<std::unique_ptr<Identity>> Identity::Open(const IdentityOptions& options) {
  std::unique_ptr<Identity> identity(new Identity(options));
  std::vector<absl::Status> faults;
  if (options.tls.enabled()) {
    absl::StatusOr<std::shared_ptr<TlsSource>> tls = TlsSource::Open(options.tls);
    faults.push_back(tls.status());
    if (tls.ok()) identity->tls_ = *std::move(tls);
  }
  State state;
  identity->ReadInto(state, faults);
  if (state.tokens.has_value() && state.tokens->size() == 0) {
    faults.push_back(
        absl::InvalidArgumentError(absl::StrCat("--tokens ", options.tokens, ": no line contains a token")));
  }
  RETURN_IF_ERROR(JoinFaults(faults));
  {
    MutexLock lock(identity->mutex_);
    identity->state_ = std::make_shared<const State>(std::move(state));
  }
  if (identity->tls_ != nullptr || !options.tokens.empty() || !options.policy.empty()) {
    identity->ticker_ =
        std::make_unique<Ticker>(options.reread_interval, [self = identity.get()] { (void)self->Reread(); });
  }
  return identity;
}

void Identity::ReadInto(State& state, std::vector<absl::Status>& faults) const {
  // A token file without tokens is allowed here and revokes all tokens. Open rejects it.
  for (const absl::Status& read : {ReadParsed("--tokens", options_.tokens, Emptiness::kIsAllowed, &TokenTable::Parse,
                                              state.tokens, state.tokens_text),
                                   ReadParsed("--policy", options_.policy, Emptiness::kIsAnError, &AccessRules::Parse,
                                              state.rules, state.policy_text)}) {
    if (!read.ok()) faults.push_back(read);
  }
}

absl::Status Identity::Reread() {
  MutexLock rereading(reread_mutex_);
  std::vector<absl::Status> faults;
  if (absl::Status tls = tls_ == nullptr ? absl::OkStatus() : tls_->Reread(); !tls.ok()) faults.push_back(tls);
  // If one file is faulty, its old content stays, and a revocation in the other file still takes effect.
  State found = *Snapshot();
  ReadInto(found, faults);
  MutexLock lock(mutex_);
  for (const absl::Status& fault : faults) {
    if (std::find(faults_.begin(), faults_.end(), fault) != faults_.end()) continue;
    Log(LogLevel::kError, "a settings file is rejected, its previous content stays in effect",
        {{"fault", std::string(fault.message())}});
  }
  faults_ = faults;
  if (found.tokens_text == state_->tokens_text && found.policy_text == state_->policy_text) return JoinFaults(faults);
  state_ = std::make_shared<const State>(std::move(found));
  const auto tokens = static_cast<int64_t>(state_->tokens.has_value() ? state_->tokens->size() : 0);
  Log(LogLevel::kInfo, "new tokens or policy in effect", {{"tokens", tokens}});
  if (tokens == 0 && state_->tokens.has_value()) {
    Log(LogLevel::kWarning, "the file of --tokens has no token: no token is valid, and a restart would fail",
        {{"file", options_.tokens}});
  }
  return JoinFaults(faults);
}

std::vector<absl::Status> Identity::faults() const {
  MutexLock lock(mutex_);
  return faults_;
}

std::shared_ptr<const Identity::State> Identity::Snapshot() const {
  MutexLock lock(mutex_);
  return state_;
}

absl::StatusOr<Caller> Identity::Authorize(RpcName rpc, const Credentials& credentials) const {
  if (rpc.access() == Access::kOpen) return Caller();
  const std::shared_ptr<const State> state = Snapshot();
  ASSIGN_OR_RETURN(const AuthenticatedIdentity known, Recognise(*state, credentials));
  if (state->rules.has_value()) return ByRules(*state->rules, rpc, known);
  return ByDefault(rpc, known, credentials);
}

// Returns the identity in the credentials. A token takes precedence: if it is wrong, the call is UNAUTHENTICATED, even
// with a valid certificate.
absl::StatusOr<AuthenticatedIdentity> Identity::Recognise(const State& state, const Credentials& credentials) const {
  if (state.tokens.has_value() && credentials.authorization.has_value()) {
    const std::optional<absl::string_view> token = BearerOf(*credentials.authorization);
    const std::optional<std::string> name =
        token.has_value() ? state.tokens->NameOf(std::string_view(token->data(), token->size())) : std::nullopt;
    if (name.has_value()) return AuthenticatedIdentity{.kind = AuthenticatedIdentity::Kind::kToken, .names = {*name}};
    return absl::UnauthenticatedError(
        "the header \"authorization\" holds no token that is known here; it must be \"Bearer TOKEN\"");
  }
  if (!credentials.certificate_names.empty()) {
    return AuthenticatedIdentity{.kind = AuthenticatedIdentity::Kind::kCertificate,
                                 .names = credentials.certificate_names};
  }
  if (credentials.uid.has_value()) {
    return AuthenticatedIdentity{.kind = AuthenticatedIdentity::Kind::kUid, .names = {absl::StrCat(*credentials.uid)}};
  }
  return AuthenticatedIdentity();
}

absl::Status Identity::Unknown() const {
  const bool tokens = !options_.tokens.empty();
  const bool certificates = !options_.tls.client_ca.empty();
  return absl::UnauthenticatedError(
      absl::StrCat("no credential came with the call; send ", tokens ? "a token (authorization: Bearer TOKEN)" : "",
                   tokens && certificates ? " or " : "", certificates ? "a client certificate" : ""));
}

absl::StatusOr<Caller> Identity::ByRules(const AccessRules& rules, RpcName rpc,
                                         const AuthenticatedIdentity& known) const {
  const std::shared_ptr<const AccessRules::Grant> grant = rules.Find(known);
  if (grant != nullptr && grant->methods[rpc.index()] != nullptr) {
    return Caller{.name = grant->name.empty() ? NameOf(known) : grant->name,
                  .quota = grant->quota,
                  .models = grant->methods[rpc.index()]};
  }
  if (known.kind == AuthenticatedIdentity::Kind::kAnonymous && enabled()) return Unknown();
  return PermissionDenied(known, rpc, "");
}

absl::StatusOr<Caller> Identity::ByDefault(RpcName rpc, const AuthenticatedIdentity& known,
                                           const Credentials& credentials) const {
  const bool anonymous = known.kind == AuthenticatedIdentity::Kind::kAnonymous;
  if (anonymous && enabled()) return Unknown();
  if (rpc.access() == Access::kAdmin) {
    // On a unix socket the operating system has authenticated the user, who is the server's own user or root.
    const bool trusted = known.kind == AuthenticatedIdentity::Kind::kUid || (anonymous && !enabled());
    if (!credentials.on_admin_listener || !trusted) {
      return PermissionDenied(known, rpc,
                              trusted
                                  ? "; call it on the admin listener (--admin), or name it in a policy file (--policy)"
                                  : "; a policy file (--policy) can allow it");
    }
  }
  return Caller{.name = NameOf(known)};
}

std::function<std::shared_ptr<const TlsPem>()> Identity::HttpTls() const {
  if (tls_ == nullptr) return nullptr;
  return [tls = tls_] { return tls->Pem(); };
}

absl::Time Identity::certificate_expires() const {
  return tls_ == nullptr ? absl::InfiniteFuture() : tls_->expires();
}

absl::Status CheckModel(const Caller& caller, const std::string& model) {
  if (caller.MayUse(model)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(caller.name, " may not use the model \"", absl::CHexEscape(model.substr(0, 128)), "\""));
}

}  // namespace vitrine
