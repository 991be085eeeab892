// SPDX-License-Identifier: Apache-2.0
#include "server/identity/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/server/identity/made_calls.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

constexpr RpcName kStream = "/vitrine.v1.Classifier/ClassifyStream";
constexpr RpcName kList = "/vitrine.v1.Registry/ListModels";

constexpr char kPolicy[] = R"(
  roles { name: "classify" methods: "/vitrine.v1.Classifier/*" models: "eit-*" models: "kv" }
  roles { name: "look" methods: "/vitrine.v1.Registry/ListModels" models: "*" }
  callers { token: "ci" roles: "classify" quota { requests_per_second: 2.5 max_in_flight: 7 } }
  callers { certificate: "spiffe://farm/trainer" roles: "look" roles: "classify" }
  callers { uid: 1000 roles: "look" }
  callers { authenticated: true roles: "look" }
  default_quota { requests_per_second: 100 burst: 300 }
)";

AccessRules Rules(const std::string& text = kPolicy) {
  absl::StatusOr<AccessRules> rules = AccessRules::Parse(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

bool Allows(const AccessRules& rules, const AuthenticatedIdentity& caller, RpcName rpc) {
  const auto grant = rules.Find(caller);
  return grant != nullptr && grant->methods[rpc.index()] != nullptr;
}

AuthenticatedIdentity Token(const std::string& name) {
  return {.kind = AuthenticatedIdentity::Kind::kToken, .names = {name}};
}

TEST(AccessRules, AllowOnlyMethodsOfTheCallersRoles) {
  const AccessRules rules = Rules();
  EXPECT_TRUE(Allows(rules, Token("ci"), kClassify));
  EXPECT_TRUE(Allows(rules, Token("ci"), kStream));
  EXPECT_FALSE(Allows(rules, Token("ci"), kList)) << "the first entry that fits is the one";
  EXPECT_FALSE(Allows(rules, Token("ci"), kLoad));
  EXPECT_TRUE(Allows(rules, Token("somebody"), kList));
  EXPECT_FALSE(Allows(rules, Token("somebody"), kClassify));
  EXPECT_EQ(rules.Find(AuthenticatedIdentity()), nullptr)
      << "nobody said that callers without a credential may do anything";
}

TEST(AccessRules, ACertificateMatchesByAnyOfItsNames) {
  const AccessRules rules = Rules();
  const AuthenticatedIdentity trainer = {.kind = AuthenticatedIdentity::Kind::kCertificate,
                                         .names = {"trainer.example", "spiffe://farm/trainer"}};
  EXPECT_TRUE(Allows(rules, trainer, kClassify));
  EXPECT_EQ(rules.Find(trainer)->name, "certificate:spiffe://farm/trainer");
  const AuthenticatedIdentity other = {.kind = AuthenticatedIdentity::Kind::kCertificate,
                                       .names = {"spiffe://farm/trainer2", "ci"}};
  EXPECT_FALSE(Allows(rules, other, kClassify)) << "a certificate named like a token is not that token";
  EXPECT_TRUE(Allows(rules, {.kind = AuthenticatedIdentity::Kind::kUid, .names = {"1000"}}, kList));
}

TEST(AccessRules, ModelsComeFromTheRolesThatAllowTheMethod) {
  const AccessRules rules = Rules();
  const auto grant = rules.Find(Token("ci"));
  EXPECT_TRUE(grant->methods[kClassify.index()]->Fit("eit-mini"));
  EXPECT_TRUE(grant->methods[kClassify.index()]->Fit("eit-"));
  EXPECT_TRUE(grant->methods[kClassify.index()]->Fit("kv"));
  EXPECT_FALSE(grant->methods[kClassify.index()]->Fit("kv-pos"));
  EXPECT_FALSE(grant->methods[kClassify.index()]->Fit("my-eit-mini"));
  EXPECT_FALSE(grant->methods[kClassify.index()]->Fit(""));
  const AuthenticatedIdentity trainer = {.kind = AuthenticatedIdentity::Kind::kCertificate,
                                         .names = {"spiffe://farm/trainer"}};
  EXPECT_TRUE(rules.Find(trainer)->methods[kList.index()]->Fit("any"));
  EXPECT_FALSE(rules.Find(trainer)->methods[kClassify.index()]->Fit("any")) << "the models of another role";
}

TEST(AccessRules, AServiceWildcardExcludesMethodsForOperators) {
  const std::string service = "/inference.GRPCInferenceService/";
  constexpr RpcName kInfer = "/inference.GRPCInferenceService/ModelInfer";
  constexpr RpcName kUnload = "/inference.GRPCInferenceService/RepositoryModelUnload";
  const AuthenticatedIdentity ci = {.kind = AuthenticatedIdentity::Kind::kToken, .names = {"ci"}};
  const std::string begin = "callers { token: 'ci' roles: 'a' } roles { name: 'a' methods: '" + service + "*' ";
  EXPECT_TRUE(Allows(Rules(begin + "}"), ci, kInfer));
  EXPECT_FALSE(Allows(Rules(begin + "}"), ci, kUnload));
  EXPECT_TRUE(Allows(Rules(begin + "methods: '" + service + "RepositoryModelUnload' }"), ci, kUnload)) << "by name";
  EXPECT_TRUE(Allows(Rules("callers { token: 'ci' roles: 'a' } roles { name: 'a' methods: '/vitrine.v1.Admin/*' }"), ci,
                     kLoad));
}

TEST(AccessRules, ACallerHasItsOwnQuotaOrTheDefault) {
  const AccessRules rules = Rules();
  const auto ci = rules.Find(Token("ci"))->quota;
  EXPECT_EQ(ci->requests_per_second, 2.5);
  EXPECT_EQ(ci->burst, 3) << "one second's worth";
  EXPECT_EQ(ci->max_in_flight, 7);
  EXPECT_EQ(rules.Find(Token("somebody"))->quota->burst, 300);
  EXPECT_EQ(Rules(R"(callers { anonymous: true })").Find(AuthenticatedIdentity())->quota, nullptr);
}

TEST(AccessRules, QuotasAreAcceptedUpToTheirLimits) {
  const auto quota = [](const std::string& text) {
    return Rules("callers { anonymous: true quota { " + text + " } }").Find(AuthenticatedIdentity())->quota;
  };
  EXPECT_EQ(quota("requests_per_second: 1e9")->burst, 1'000'000'000);
  EXPECT_EQ(quota("requests_per_second: 3")->burst, 3);
  EXPECT_EQ(quota("requests_per_second: 1e-9")->burst, 1);
  EXPECT_EQ(quota("requests_per_second: 9 burst: 1")->burst, 1);
  EXPECT_EQ(quota("max_in_flight: 1")->max_in_flight, 1);
  EXPECT_EQ(quota("max_in_flight: 1")->requests_per_second, CallerQuota().requests_per_second) << "none";
  EXPECT_EQ(quota("requests_per_second: 9")->max_in_flight, CallerQuota().max_in_flight) << "none";
}

TEST(AccessRules, GrantsHaveTheNamesOfTheirEntries) {
  const AccessRules rules = Rules();
  EXPECT_EQ(rules.Find(Token("ci"))->name, "token:ci");
  EXPECT_EQ(rules.Find({.kind = AuthenticatedIdentity::Kind::kUid, .names = {"1000"}})->name, "uid:1000");
  EXPECT_EQ(rules.Find(Token("somebody"))->name, "") << "named by the credential";
  EXPECT_EQ(Rules("callers { anonymous: true }").Find(AuthenticatedIdentity())->name, kAnonymous);
}

TEST(AccessRules, InvalidPoliciesAreRefusedWithTheFault) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"roles { name: 3 }", "line 1, column"},
      {"rules { }", "line 1, column"},
      {R"(roles { name: "a" methods: "/vitrine.v1.Classifier/Classifx" })", "Classifx"},
      {R"(roles { name: "a" methods: "*" })", "there is no method \"*\""},
      {R"(roles { name: "a" methods: "/vitrine.v1.Class*" })", "there is no method"},
      {R"(roles { name: "a" })", "has no methods"},
      {R"(roles { name: "a" methods: "/vitrine.v1.Admin/*" } roles { name: "a" methods: "/vitrine.v1.Admin/*" })",
       "two roles"},
      {R"(callers { token: "ci" roles: "a" })", "unknown role \"a\""},
      {R"(callers { roles: "a" })", "no identity"},
      {R"(callers { anonymous: false })", "no identity"},
      {R"(callers { token: "" })", "no identity"},
      {R"(callers { certificate: "" })", "no identity"},
      {R"(callers { authenticated: false })", "no identity"},
      {R"(callers { authenticated: true } callers { authenticated: true })", "two entries for authenticated"},
      {R"(callers { uid: 7 } callers { uid: 7 })", "two entries for uid:7"},
      {R"(callers { token: "ci" quota { requests_per_second: 1 burst: 0 } })", "the quota of token:ci: burst must be"},
      {R"(callers { token: "ci" quota { requests_per_second: 1.1e9 } })", "at most 1e9"},
      {R"(callers { token: "ci" quota { max_in_flight: 0 } })", "max_in_flight must be at least 1"},
      {R"(callers { token: "ci" } callers { token: "ci" })", "two entries for token:ci"},
      {R"(callers { token: "ci" quota { } })", "sets no limit"},
      {R"(callers { token: "ci" quota { requests_per_second: 0 } })", "above 0"},
      {R"(callers { token: "ci" quota { requests_per_second: nan } })", "above 0"},
      {R"(callers { token: "ci" quota { burst: 3 max_in_flight: 1 } })", "needs requests_per_second"},
      {R"(default_quota { max_in_flight: 0 })", "at least 1"},
  };
  for (const auto& [text, why] : kWrong) {
    const absl::StatusOr<AccessRules> rules = AccessRules::Parse(text);
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(rules.status().message()), HasSubstr(why)) << text;
  }
}

// Tests the policies of the Kubernetes component and of docs/operations/security.md.
TEST(AccessRules, ShippedPoliciesAllowTheDocumentedCallers) {
  EXPECT_TRUE(Allows(Rules(ReadFile(VITRINE_SOURCE "/deploy/kubernetes/components/identity/policy.textproto")),
                     Token("client"), kClassify));
  const std::string docs = ReadFile(VITRINE_SOURCE "/docs/operations/security.md");
  const size_t begin = docs.find("roles { name: \"classify\"");
  ASSERT_NE(begin, std::string::npos);
  const AccessRules rules = Rules(docs.substr(begin, docs.find("```", begin) - begin));
  EXPECT_EQ(rules.Find(Token("ci"))->quota->burst, 100);
}

TEST(ModelPatterns, AStarMatchesAnyText) {
  const ModelPatterns patterns({"a*b*c", "exact"});
  EXPECT_TRUE(patterns.Fit("abc"));
  EXPECT_TRUE(patterns.Fit("a-b-b-c"));
  EXPECT_FALSE(patterns.Fit("a-c"));
  EXPECT_FALSE(patterns.Fit("abcd"));
  EXPECT_TRUE(patterns.Fit("exact"));
  EXPECT_FALSE(ModelPatterns({}).Fit(""));
}

}  // namespace
}  // namespace vitrine::testing
