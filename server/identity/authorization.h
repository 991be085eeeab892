// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_AUTHORIZATION_H_
#define VITRINE_SERVER_IDENTITY_AUTHORIZATION_H_

#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace vitrine {

// Access rule of a method when there is no policy file.
enum class Access {
  kOpen,      // no credential needed, because probes have no credential
  kByPolicy,  // needs a valid credential if the server accepts credentials
  kAdmin,     // admin listener only; if the server accepts credentials, only over that listener's unix socket
};

struct MethodPolicy {
  std::string_view method;
  Access access;
};

// The methods of all listeners, except the reflection service, which is served only if neither tokens nor a client CA
// is configured.
inline constexpr MethodPolicy kMethodPolicies[] = {
    {"/grpc.health.v1.Health/Check", Access::kOpen},
    {"/grpc.health.v1.Health/Watch", Access::kOpen},
    {"/vitrine.v1.Classifier/Classify", Access::kByPolicy},
    {"/vitrine.v1.Classifier/ClassifyStream", Access::kByPolicy},
    {"/vitrine.v1.Registry/ListModels", Access::kByPolicy},
    {"/vitrine.v1.Registry/GetModel", Access::kByPolicy},
    {"/vitrine.v1.Registry/WatchModels", Access::kByPolicy},
    {"/vitrine.v1.Admin/LoadModel", Access::kAdmin},
    {"/vitrine.v1.Admin/UnloadModel", Access::kAdmin},
    {"/vitrine.v1.Admin/RollbackModel", Access::kAdmin},
    {"/vitrine.v1.Admin/SetVersionPolicy", Access::kAdmin},
    {"/vitrine.v1.Admin/SetTraffic", Access::kAdmin},
    {"/vitrine.v1.Admin/SetLabel", Access::kAdmin},
    {"/vitrine.v1.Admin/ClearLabel", Access::kAdmin},
    {"/vitrine.v1.Admin/ResetServing", Access::kAdmin},
    {"/vitrine.v1.Admin/GetServing", Access::kAdmin},
    {"/inference.GRPCInferenceService/ServerLive", Access::kOpen},
    {"/inference.GRPCInferenceService/ServerReady", Access::kOpen},
    {"/inference.GRPCInferenceService/ModelReady", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ServerMetadata", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ModelMetadata", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ModelConfig", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ModelInfer", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ModelStreamInfer", Access::kByPolicy},
    {"/inference.GRPCInferenceService/ModelStatistics", Access::kByPolicy},
    {"/inference.GRPCInferenceService/RepositoryIndex", Access::kByPolicy},
    {"/inference.GRPCInferenceService/RepositoryModelLoad", Access::kAdmin},
    {"/inference.GRPCInferenceService/RepositoryModelUnload", Access::kAdmin},
};
inline constexpr size_t kMethodCount = std::size(kMethodPolicies);

// A method of kMethodPolicies. The name of any other method does not compile, so every RpcName has an access rule.
class RpcName {
 public:
  // NOLINTNEXTLINE: implicit, so that call sites can pass the name.
  consteval RpcName(std::string_view method) : index_(IndexOf(method)) {
    if (index_ == kMethodCount) throw std::logic_error("this RPC has no row in kMethodPolicies");
  }
  consteval RpcName(const char* method) : RpcName(std::string_view(method)) {}
  // Finds a method whose name is known only at run time: from descriptors or policy files.
  static std::optional<RpcName> Find(std::string_view method) {
    const size_t index = IndexOf(method);
    if (index == kMethodCount) return std::nullopt;
    return RpcName(index);
  }

  constexpr std::string_view method() const { return kMethodPolicies[index_].method; }
  constexpr Access access() const { return kMethodPolicies[index_].access; }
  constexpr size_t index() const { return index_; }  // row of the method in kMethodPolicies

 private:
  explicit constexpr RpcName(size_t index) : index_(index) {}
  static constexpr size_t IndexOf(std::string_view method) {
    size_t index = 0;
    while (index < kMethodCount && kMethodPolicies[index].method != method) ++index;
    return index;
  }

  size_t index_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_AUTHORIZATION_H_
