// SPDX-License-Identifier: Apache-2.0
#include "server/identity/access_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/process/text_file.h"

namespace vitrine {
namespace {

// Returns true if a role's pattern matches a method. A pattern "/SERVICE/*" matches admin methods only if the service
// has no other methods. For example, "/inference.GRPCInferenceService/*" allows inference, but not unloading models.
bool Fits(const std::string& pattern, const MethodPolicy& row) {
  if (pattern.size() <= 2 || !absl::EndsWith(pattern, "/*")) return pattern == row.method;
  const std::string_view service = std::string_view(pattern).substr(0, pattern.size() - 1);
  const auto of_service = [&](const MethodPolicy& other) { return other.method.substr(0, service.size()) == service; };
  if (!of_service(row)) return false;
  return row.access != Access::kAdmin ||
         std::all_of(std::begin(kMethodPolicies), std::end(kMethodPolicies),
                     [&](const MethodPolicy& other) { return !of_service(other) || other.access == Access::kAdmin; });
}

// A role of the policy file.
struct ParsedRole {
  std::array<bool, kMethodCount> allows{};
  std::vector<std::string> models;
};

absl::StatusOr<ParsedRole> ParseRole(const v1::Role& role) {
  ParsedRole parsed;
  if (role.name().empty()) return absl::InvalidArgumentError("a role has no name");
  if (role.methods().empty())
    return absl::InvalidArgumentError(absl::StrCat("role \"", role.name(), "\" has no methods"));
  for (const std::string& pattern : role.methods()) {
    bool found = false;
    for (size_t i = 0; i < kMethodCount; ++i) {
      if (!Fits(pattern, kMethodPolicies[i])) continue;
      parsed.allows[i] = true;
      found = true;
    }
    if (!found) {
      return absl::InvalidArgumentError(absl::StrCat("role \"", role.name(), "\": there is no method \"", pattern,
                                                     "\"; write \"/vitrine.v1.Classifier/Classify\" for one, "
                                                     "\"/vitrine.v1.Classifier/*\" for all methods of a service"));
    }
  }
  parsed.models.assign(role.models().begin(), role.models().end());
  return parsed;
}

absl::StatusOr<std::shared_ptr<const CallerQuota>> ParseQuota(const v1::Quota& quota, const std::string& whose) {
  auto parsed = std::make_shared<CallerQuota>();
  const auto wrong = [&](const char* what) { return absl::InvalidArgumentError(absl::StrCat(whose, ": ", what)); };
  if (!quota.has_requests_per_second() && !quota.has_max_in_flight()) {
    return wrong("the quota sets no limit; give requests_per_second or max_in_flight");
  }
  if (quota.has_requests_per_second()) {
    const double rate = quota.requests_per_second();
    if (!(rate > 0 && rate <= 1e9)) return wrong("requests_per_second must be above 0 and at most 1e9");
    parsed->requests_per_second = rate;
    parsed->burst = static_cast<int64_t>(std::ceil(rate));
  }
  if (quota.has_burst()) {
    if (!quota.has_requests_per_second()) return wrong("burst needs requests_per_second");
    if (quota.burst() < 1) return wrong("burst must be at least 1");
    parsed->burst = quota.burst();
  }
  if (quota.has_max_in_flight()) {
    if (quota.max_in_flight() < 1) return wrong("max_in_flight must be at least 1");
    parsed->max_in_flight = quota.max_in_flight();
  }
  return std::shared_ptr<const CallerQuota>(std::move(parsed));
}

std::string NameOf(const v1::CallerAccess& entry) {
  switch (entry.identity_case()) {
    case v1::CallerAccess::kToken:
      return absl::StrCat("token:", entry.token());
    case v1::CallerAccess::kCertificate:
      return absl::StrCat("certificate:", entry.certificate());
    case v1::CallerAccess::kUid:
      return absl::StrCat("uid:", entry.uid());
    case v1::CallerAccess::kAnonymous:
      return kAnonymous;
    default:
      return "";  // an entry for all authenticated callers: the credential gives the name
  }
}

absl::Status CheckIdentity(const v1::CallerAccess& entry, std::set<std::string>& seen) {
  const bool empty =
      (entry.has_token() && entry.token().empty()) || (entry.has_certificate() && entry.certificate().empty()) ||
      (entry.has_authenticated() && !entry.authenticated()) || (entry.has_anonymous() && !entry.anonymous());
  if (empty || entry.identity_case() == v1::CallerAccess::IDENTITY_NOT_SET) {
    return absl::InvalidArgumentError(
        "an entry of callers has no identity; give token, certificate, uid, authenticated: true or anonymous: true");
  }
  const std::string name = entry.has_authenticated() ? "authenticated" : NameOf(entry);
  if (seen.insert(name).second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("callers has two entries for ", name, "; the second would have no effect"));
}

// Makes the grant of one entry. For each method, the grant has the models of the entry's roles that allow the method.
absl::StatusOr<AccessRules::Grant> MakeGrant(const v1::CallerAccess& entry,
                                             const std::map<std::string, ParsedRole>& roles) {
  AccessRules::Grant grant;
  grant.name = NameOf(entry);
  std::array<std::vector<std::string>, kMethodCount> models;
  std::array<bool, kMethodCount> allowed{};
  for (const std::string& name : entry.roles()) {
    const auto role = roles.find(name);
    if (role == roles.end()) {
      return absl::InvalidArgumentError(absl::StrCat("an entry of callers names the unknown role \"", name, "\""));
    }
    for (size_t i = 0; i < kMethodCount; ++i) {
      if (!role->second.allows[i]) continue;
      allowed[i] = true;
      models[i].insert(models[i].end(), role->second.models.begin(), role->second.models.end());
    }
  }
  for (size_t i = 0; i < kMethodCount; ++i) {
    if (allowed[i]) grant.methods[i] = std::make_shared<const ModelPatterns>(std::move(models[i]));
  }
  return grant;
}

bool IsFor(const v1::CallerAccess& entry, const AuthenticatedIdentity& caller) {
  const auto has = [&](const std::string& name) {
    return std::find(caller.names.begin(), caller.names.end(), name) != caller.names.end();
  };
  switch (caller.kind) {
    case AuthenticatedIdentity::Kind::kAnonymous:
      return entry.has_anonymous();
    case AuthenticatedIdentity::Kind::kToken:
      return entry.has_authenticated() || (entry.has_token() && has(entry.token()));
    case AuthenticatedIdentity::Kind::kCertificate:
      return entry.has_authenticated() || (entry.has_certificate() && has(entry.certificate()));
    case AuthenticatedIdentity::Kind::kUid:
      return entry.has_authenticated() || (entry.has_uid() && has(absl::StrCat(entry.uid())));
  }
  return false;
}

}  // namespace

absl::StatusOr<AccessRules> AccessRules::Parse(const std::string& text) {
  v1::AccessPolicy policy;
  RETURN_IF_ERROR(ParseTextProto(text, policy));
  std::map<std::string, ParsedRole> roles;
  for (const v1::Role& role : policy.roles()) {
    ASSIGN_OR_RETURN(ParsedRole parsed, ParseRole(role));
    if (!roles.emplace(role.name(), std::move(parsed)).second) {
      return absl::InvalidArgumentError(absl::StrCat("there are two roles \"", role.name(), "\""));
    }
  }
  std::shared_ptr<const CallerQuota> default_quota;
  if (policy.has_default_quota()) {
    ASSIGN_OR_RETURN(default_quota, ParseQuota(policy.default_quota(), "default_quota"));
  }
  AccessRules rules;
  std::set<std::string> seen;
  for (const v1::CallerAccess& entry : policy.callers()) {
    RETURN_IF_ERROR(CheckIdentity(entry, seen));
    ASSIGN_OR_RETURN(Grant grant, MakeGrant(entry, roles));
    grant.quota = default_quota;
    if (entry.has_quota()) {
      ASSIGN_OR_RETURN(grant.quota, ParseQuota(entry.quota(), absl::StrCat("the quota of ", grant.name)));
    }
    rules.entries_.push_back({.access = entry, .grant = std::make_shared<const Grant>(std::move(grant))});
  }
  return rules;
}

std::shared_ptr<const AccessRules::Grant> AccessRules::Find(const AuthenticatedIdentity& caller) const {
  for (const Entry& entry : entries_) {
    if (IsFor(entry.access, caller)) return entry.grant;
  }
  return nullptr;
}

}  // namespace vitrine
