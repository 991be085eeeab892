// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_ACCESS_RULES_H_
#define VITRINE_SERVER_IDENTITY_ACCESS_RULES_H_

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/identity/authorization.h"
#include "server/identity/caller.h"
#include "vitrine/v1/access.pb.h"

namespace vitrine {

// Authenticated identity of a caller, before authorization.
struct AuthenticatedIdentity {
  enum class Kind { kAnonymous, kToken, kCertificate, kUid };
  Kind kind = Kind::kAnonymous;
  // Contains one name for kToken and kUid, every name in the certificate for kCertificate, and none for kAnonymous.
  std::vector<std::string> names = {};
};

// The policy file, checked and converted to tables. Immutable.
class AccessRules {
 public:
  // Permissions of one entry in the policy file.
  struct Grant {
    // Models that the caller may use with each method, by RpcName::index; null: the method is denied.
    std::array<std::shared_ptr<const ModelPatterns>, kMethodCount> methods;
    std::shared_ptr<const CallerQuota> quota;  // null: no limit
    std::string name;                          // Caller::name of the matched caller; empty: the name in the credential
  };

  // Parses a textproto of vitrine.v1.AccessPolicy. INVALID_ARGUMENT: the text cannot be parsed (the error gives line
  // and column), or a role, an entry of `callers` or a quota in the text is invalid.
  static absl::StatusOr<AccessRules> Parse(const std::string& text);

  // Returns the grant of the first entry that matches the caller; null: no entry matches.
  std::shared_ptr<const Grant> Find(const AuthenticatedIdentity& caller) const;

 private:
  struct Entry {
    v1::CallerAccess access;
    std::shared_ptr<const Grant> grant;
  };
  std::vector<Entry> entries_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_ACCESS_RULES_H_
