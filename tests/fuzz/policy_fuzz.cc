// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as an access policy. The text must be rejected, or give each named caller a grant that has only
// the methods and limits in the text.
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/byte_order_mark.h"
#include "server/identity/access_rules.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

AuthenticatedIdentity CallerOf(const v1::CallerAccess& entry) {
  using Kind = AuthenticatedIdentity::Kind;
  if (entry.has_token()) return {.kind = Kind::kToken, .names = {entry.token()}};
  if (entry.has_certificate()) return {.kind = Kind::kCertificate, .names = {"other.example", entry.certificate()}};
  if (entry.has_uid()) return {.kind = Kind::kUid, .names = {absl::StrCat(entry.uid())}};
  if (entry.has_authenticated()) return {.kind = Kind::kToken, .names = {"somebody that no entry names"}};
  return {};
}

// Returns true if a role names the method or its service.
bool IsNamed(std::string_view method, const v1::AccessPolicy& policy) {
  const std::string_view service = method.substr(0, method.rfind('/') + 1);
  for (const v1::Role& role : policy.roles()) {
    for (const std::string& pattern : role.methods()) {
      if (pattern == method || pattern == absl::StrCat(std::string(service), "*")) return true;
    }
  }
  return false;
}

void CheckGrant(const AccessRules::Grant& grant, const v1::AccessPolicy& policy) {
  for (size_t i = 0; i < kMethodCount; ++i) {
    if (grant.methods[i] == nullptr) continue;
    Require(IsNamed(kMethodPolicies[i].method, policy));
    (void)grant.methods[i]->Fit("eit-mini-eit-mini-eit-mini");
  }
  if (grant.quota == nullptr) return;
  Require(grant.quota->requests_per_second > 0 && grant.quota->burst >= 1 && grant.quota->max_in_flight >= 1);
}

}  // namespace
}  // namespace vitrine

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  vitrine::v1::AccessPolicy scratch;
  return vitrine::MutateText(scratch, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Require;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto rules = vitrine::AccessRules::Parse(text);
  if (!rules.ok()) {
    Require(rules.status().code() == absl::StatusCode::kInvalidArgument && !rules.status().message().empty());
    return 0;
  }
  vitrine::v1::AccessPolicy policy;
  Require(google::protobuf::TextFormat::ParseFromString(std::string(vitrine::WithoutByteOrderMark(text)), &policy));
  bool anonymous = false, authenticated = false;
  for (const vitrine::v1::CallerAccess& entry : policy.callers()) {
    anonymous |= entry.has_anonymous();
    authenticated |= entry.has_authenticated();
    const auto grant = rules->Find(vitrine::CallerOf(entry));
    Require(grant != nullptr);
    vitrine::CheckGrant(*grant, policy);
  }
  Require((rules->Find({}) != nullptr) == anonymous);
  const vitrine::AuthenticatedIdentity stranger = {.kind = vitrine::AuthenticatedIdentity::Kind::kToken,
                                                   .names = {"\x01 is in no file"}};
  Require(authenticated || rules->Find(stranger) == nullptr);
  return 0;
}
