#include "server/authorization.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr MethodPolicy kPolicies[] = {
    {"/vitrine.v1.Classifier/Classify", Access::kOpen},  {"/vitrine.v1.Classifier/ClassifyStream", Access::kOpen},
    {"/vitrine.v1.Registry/ListModels", Access::kOpen},  {"/vitrine.v1.Registry/GetModel", Access::kOpen},
    {"/vitrine.v1.Registry/WatchModels", Access::kOpen}, {"/grpc.health.v1.Health/Check", Access::kOpen},
    {"/grpc.health.v1.Health/Watch", Access::kOpen},
};

}  // namespace

std::span<const MethodPolicy> Policies() {
  return kPolicies;
}

absl::Status Authorize(std::string_view method) {
  const bool known = std::any_of(std::begin(kPolicies), std::end(kPolicies),
                                 [method](const MethodPolicy& policy) { return policy.method == method; });
  if (known) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(std::string(method), " is open to nobody"));
}

}  // namespace vitrine
