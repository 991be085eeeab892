// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_CALLER_H_
#define VITRINE_SERVER_IDENTITY_CALLER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Limits on one caller's requests; see Quota in proto/vitrine/v1/access.proto.
struct CallerQuota {
  double requests_per_second = std::numeric_limits<double>::infinity();
  int64_t burst = std::numeric_limits<int64_t>::max();  // maximum requests at once after a pause, at least 1
  int64_t max_in_flight = std::numeric_limits<int64_t>::max();
};

// Patterns of names, for example of models; "*" matches any characters. Immutable.
class ModelPatterns {
 public:
  explicit ModelPatterns(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  bool Fit(std::string_view model) const;

 private:
  const std::vector<std::string> patterns_;
};

inline constexpr char kAnonymous[] = "anonymous";

// The authenticated caller and the permissions of this call.
struct Caller {
  // "token:NAME" (from the token file), "certificate:NAME" (a subject alternative name of the client's certificate, or
  // its subject), "uid:N" (the user of a unix socket), or "anonymous" without a credential. Never a secret. Admin
  // actions are logged under this name.
  std::string name = kAnonymous;
  // Quota in the policy file at the time of the call; null: no limit.
  std::shared_ptr<const CallerQuota> quota = nullptr;
  // Models that this call may use and list; null: all.
  std::shared_ptr<const ModelPatterns> models = nullptr;
  // Name under which fair shares and quotas are counted (see peer_accounts.h). Empty: `name`.
  std::string account = {};

  const std::string& Account() const { return account.empty() ? name : account; }
  bool IsAnonymous() const { return name == kAnonymous; }
  bool MayUse(std::string_view model) const { return models == nullptr || models->Fit(model); }
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_CALLER_H_
