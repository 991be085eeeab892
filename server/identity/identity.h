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
#include "common/mutex.h"
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
  // File of bearer tokens: see token_table.h. Empty: tokens are ignored.
  std::string tokens = {};
  // Access policy, textproto of vitrine.v1.AccessPolicy. Empty: the rules of Access.
  std::string policy = {};
  // Takes tokens on listeners that are reachable from the network without TLS, where an eavesdropper could use them.
  bool plaintext_tokens = false;
  // Interval at which the files are checked for changes.
  absl::Duration reread_interval = absl::Seconds(1);

  // True if tokens, client certificates or both are accepted.
  bool takes_credentials() const { return !tokens.empty() || !tls.client_ca.empty(); }

  // Checks that the settings are consistent. `listen` and `admin` are the addresses of the listeners that take
  // credentials; empty: no such listener. The files are checked by Identity::Open.
  absl::Status Validate(const std::string& listen, const std::string& admin) const;
};

// Returns true if every address of the host in HOST:PORT is a loopback address, or the address is a unix socket.
bool IsLocalAddress(const std::string& address);

// Authenticates callers and authorises their calls; the single check before every RPC. Thread-safe.
class Identity {
 public:
  // Reads and checks every file; the error carries every fault found, one per line. Then checks the files for changes
  // on a thread of its own: a valid file replaces the old one, a faulty one is logged once and the old one stays in
  // effect. A token file without tokens is an error at first; later it revokes all tokens.
  static absl::StatusOr<std::unique_ptr<Identity>> Open(const IdentityOptions& options);

  // True if the server takes credentials; then reflection is off.
  bool enabled() const { return options_.takes_credentials(); }

  // Returns the caller. UNAUTHENTICATED: a required credential is missing, or it is wrong. PERMISSION_DENIED: it is
  // valid but does not allow this method. No message contains a credential. Access to the model is checked separately
  // once its name is known: CheckModel.
  absl::StatusOr<Caller> Authorize(RpcName rpc, const Credentials& credentials) const;

  // Returns the source of the certificate for new connections; null without TLS.
  std::function<std::shared_ptr<const TlsPem>()> HttpTls() const;

  // Returns the time at which the certificate expires; infinite without TLS.
  absl::Time certificate_expires() const;

  // Reads the files now; their current content is in effect when it returns. Returns every fault, one per line; the old
  // content of a faulty file stays in effect.
  absl::Status Reread();

 private:
  explicit Identity(const IdentityOptions& options) : options_(options) {}
  // Content of the token and policy files.
  struct State {
    std::optional<TokenTable> tokens;
    std::optional<AccessRules> rules;
    std::string tokens_text;
    std::string policy_text;
  };

  std::shared_ptr<const State> Snapshot() const;
  // Replaces the part of each valid file; a faulty file leaves its part unchanged. Returns every fault, one per line.
  absl::Status ReadInto(State& state) const;
  absl::StatusOr<AuthenticatedIdentity> Recognise(const State& state, const Credentials& credentials) const;
  absl::StatusOr<Caller> ByRules(const AccessRules& rules, RpcName rpc, const AuthenticatedIdentity& known) const;
  absl::StatusOr<Caller> ByDefault(RpcName rpc, const AuthenticatedIdentity& known,
                                   const Credentials& credentials) const;
  absl::Status Unknown() const;

  const IdentityOptions options_;
  std::shared_ptr<TlsSource> tls_;  // constant after Open; null without TLS

  Mutex reread_mutex_;  // one at a time: an older read must not undo a newer revocation
  mutable Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_);
  std::string last_fault_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<Ticker> ticker_;  // last member: it uses everything above
};

// Returns the caller for logs and the audit: after PERMISSION_DENIED only its name, after UNAUTHENTICATED "anonymous".
Caller CallerOf(const absl::StatusOr<Caller>& authorized);

// Returns PERMISSION_DENIED if the caller may not use this model, whether or not it exists.
absl::Status CheckModel(const Caller& caller, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_IDENTITY_H_
