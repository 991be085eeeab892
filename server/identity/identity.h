// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_IDENTITY_H_
#define VITRINE_SERVER_IDENTITY_IDENTITY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/identity/access_rules.h"
#include "server/identity/authorization.h"
#include "server/identity/caller.h"
#include "server/identity/credentials.h"
#include "server/identity/tls_files.h"
#include "server/identity/tls_source.h"
#include "server/identity/token_table.h"
#include "server/process/ticker.h"

namespace vitrine {

struct IdentityOptions {
  // Encryption, and certificates as credentials.
  TlsFileOptions tls;
  // File of bearer tokens: see token_table.h. Empty: tokens are not looked at.
  std::string tokens = {};
  // File that says who may call what, textproto of vitrine.v1.AccessPolicy. Empty: the rules of Access.
  std::string policy = {};
  // Takes tokens on listeners that the network reaches and TLS does not protect, where whoever listens may use them.
  bool plaintext_tokens = false;
  // How often the files are looked at.
  absl::Duration reread_interval = absl::Seconds(1);

  // Tokens, client certificates or both.
  bool takes_credentials() const { return !tokens.empty() || !tls.client_ca.empty(); }

  // Settings that do not go together. `listen` and `admin` are the addresses of the listeners that take credentials;
  // empty: there is no such listener. The files are looked at by Identity::Open.
  absl::Status Validate(const std::string& listen, const std::string& admin) const;
};

// Whether every address of the host in HOST:PORT is this machine's own, or the address is a socket in the file system.
bool IsLocalAddress(const std::string& address);

// Who calls, and whether they may: the one check in front of every RPC. Thread-safe.
class Identity {
 public:
  // Reads and checks every file; the status carries every fault found, one per line. Then looks at them again and
  // again on a thread of its own: each file that is right is taken, one that is wrong is logged once and its old one
  // stays. A token file without a token is refused at first; later it means that nobody has one any more.
  static absl::StatusOr<std::unique_ptr<Identity>> Open(const IdentityOptions& options);

  // Whether the server takes credentials. Where it does, reflection is off.
  bool enabled() const { return options_.takes_credentials(); }

  // UNAUTHENTICATED: no credential where one is needed, or a wrong one. PERMISSION_DENIED: a right one that this method
  // is not open to. No sentence holds a credential. Whether the caller may use the model is asked once its name is
  // known: CheckModel.
  absl::StatusOr<Caller> Authorize(RpcName rpc, const Credentials& credentials) const;

  // What a listener shows to each new connection; null without TLS.
  std::function<std::shared_ptr<const TlsPem>()> HttpTls() const;

  // When the certificate expires; infinite without TLS.
  absl::Time certificate_expires() const;

  // Looks at the files now; what they say when it is called holds when it returns. Every fault, one per line; what a
  // file at fault said before holds on.
  absl::Status Reread();

 private:
  explicit Identity(const IdentityOptions& options) : options_(options) {}
  // What the token and policy files say.
  struct State {
    std::optional<TokenTable> tokens;
    std::optional<AccessRules> rules;
    std::string tokens_text;
    std::string policy_text;
  };

  std::shared_ptr<const State> Snapshot() const;
  // Takes over what each file says; one that is wrong changes nothing of its part. Every fault, one per line.
  absl::Status ReadInto(State& state) const;
  absl::StatusOr<KnownAs> Recognise(const State& state, const Credentials& credentials) const;
  absl::StatusOr<Caller> ByRules(const AccessRules& rules, RpcName rpc, const KnownAs& known) const;
  absl::StatusOr<Caller> ByDefault(RpcName rpc, const KnownAs& known, const Credentials& credentials) const;
  absl::Status Unknown() const;

  const IdentityOptions options_;
  std::shared_ptr<TlsSource> tls_;  // constant after Open; null without TLS

  Mutex reread_mutex_;  // one at a time: who read first must not bring back what was taken away since
  mutable Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_);
  std::string last_fault_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<Ticker> ticker_;  // last: it uses everything above
};

// Who asked, for logs and the audit: of a call that was refused with PERMISSION_DENIED the name alone, of one that was
// UNAUTHENTICATED "anonymous".
Caller CallerOf(const absl::StatusOr<Caller>& authorized);

// PERMISSION_DENIED if the caller may not use this model, whether or not there is one of that name.
absl::Status CheckModel(const Caller& caller, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_IDENTITY_H_
