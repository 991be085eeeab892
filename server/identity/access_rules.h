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

// Who a caller turned out to be, before it is known what that allows.
struct KnownAs {
  enum class Kind { kAnonymous, kToken, kCertificate, kUid };
  Kind kind = Kind::kAnonymous;
  // Of kToken and kUid the one name; of kCertificate every name in it. Not empty but for kAnonymous.
  std::vector<std::string> names = {};
};

// The policy file, checked and turned into tables. Immutable.
class AccessRules {
 public:
  // What one entry of the file allows.
  struct Grant {
    // By RpcName::index: the models that the method may be used with; null: the method is denied.
    std::array<std::shared_ptr<const ModelPatterns>, kMethodCount> methods;
    std::shared_ptr<const CallerQuota> quota;  // null: no limit
    std::string name;                          // Caller::name of whom it was found for
  };

  // INVALID_ARGUMENT: no textproto of vitrine.v1.AccessPolicy (with line and column), a role that is missing, named
  // twice or without methods, a method that does not exist, an entry without an identity, a quota that limits nothing.
  static absl::StatusOr<AccessRules> Parse(const std::string& text);

  // The first entry for this caller. Nothing if there is none: then nothing is allowed. Constant time but for the
  // comparison of names.
  std::shared_ptr<const Grant> Find(const KnownAs& caller) const;

 private:
  struct Entry {
    v1::CallerAccess access;
    std::shared_ptr<const Grant> grant;
  };
  std::vector<Entry> entries_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_ACCESS_RULES_H_
