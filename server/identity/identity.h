// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_IDENTITY_H_
#define VITRINE_SERVER_IDENTITY_IDENTITY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  // Files for encryption and for checking client certificates.
  TlsFileOptions tls;
  // File of bearer tokens: see token_table.h. Empty: the server accepts no tokens.
  std::string tokens = {};
  // Access policy, a textproto of vitrine.v1.AccessPolicy. Empty: the rules in kMethodPolicies (authorization.h) apply.
  std::string policy = {};
  // True: tokens are accepted without TLS on listeners that the network can reach, where an eavesdropper could steal
  // them.
  bool plaintext_tokens = false;
  // Interval at which the files are checked for changes.
  absl::Duration reread_interval = absl::Seconds(1);

  // Returns true if the server accepts tokens or client certificates.
  bool takes_credentials() const { return !tokens.empty() || !tls.client_ca.empty(); }

  // Checks that the settings are consistent. `listen` and `admin` are the addresses of the listeners that accept
  // credentials; empty: no such listener. Identity::Open checks the files.
  absl::Status Validate(const std::string& listen, const std::string& admin) const;
};

// Returns true if the address is a unix socket, or every address of the host in HOST:PORT is a loopback address.
bool IsLocalAddress(const std::string& address);

// Authenticates callers and authorizes their calls, for gRPC and HTTP. Thread-safe.
class Identity {
 public:
  // Reads and checks every file. Returns an error with every fault, one per line. Then a separate thread checks the
  // files for changes. A changed file replaces the old content if it is valid. A faulty file is logged once, and its
  // old content stays in effect. If the token file contains no token, Open returns an error. If the thread finds later
  // that this file contains no token, no token is valid from then on, and a warning is logged.
  static absl::StatusOr<std::unique_ptr<Identity>> Open(const IdentityOptions& options);

  // Returns true if the server accepts credentials; reflection is then off.
  bool enabled() const { return options_.takes_credentials(); }

  // Returns the caller. UNAUTHENTICATED: a required credential is missing or wrong. PERMISSION_DENIED: the caller may
  // not use this method. No message contains a credential. CheckModel checks access to the model separately, once its
  // name is known.
  absl::StatusOr<Caller> Authorize(RpcName rpc, const Credentials& credentials) const;

  // Returns a function that gives the certificate for new connections; null without TLS.
  std::function<std::shared_ptr<const TlsPem>()> HttpTls() const;

  // Returns the earliest expiry of the certificate chain and the client CAs; infinite without TLS.
  absl::Time certificate_expires() const;

  // Reads the files again. Once Reread returns, their current content is in effect. Returns an error with every fault,
  // one per line; a faulty file's old content stays in effect.
  absl::Status Reread();

  // Returns the errors of the last read: one for all TLS files together, and one for each other faulty file.
  std::vector<absl::Status> faults() const;

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
  // Replaces the content of each valid file in `state`; the content of a faulty file stays. Adds an error for each
  // faulty file to `faults`.
  void ReadInto(State& state, std::vector<absl::Status>& faults) const;
  absl::StatusOr<AuthenticatedIdentity> Recognise(const State& state, const Credentials& credentials) const;
  absl::StatusOr<Caller> ByRules(const AccessRules& rules, RpcName rpc, const AuthenticatedIdentity& known) const;
  absl::StatusOr<Caller> ByDefault(RpcName rpc, const AuthenticatedIdentity& known,
                                   const Credentials& credentials) const;
  absl::Status Unknown() const;

  const IdentityOptions options_;
  std::shared_ptr<TlsSource> tls_;  // constant after Open; null without TLS

  Mutex reread_mutex_;  // one read at a time: an older read must not undo a newer revocation
  mutable Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Status> faults_ ABSL_GUARDED_BY(mutex_);  // errors of the last read of the files

  std::unique_ptr<Ticker> ticker_;  // last member: its thread uses everything above
};

// Returns the caller for logs, from a result of Authorize: after PERMISSION_DENIED only the name is set; after
// UNAUTHENTICATED the name is "anonymous".
Caller CallerOf(const absl::StatusOr<Caller>& authorized);

// Returns PERMISSION_DENIED if the caller may not use this model, even if the model does not exist.
absl::Status CheckModel(const Caller& caller, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_IDENTITY_H_
