#ifndef VITRINE_SERVER_AUTHORIZATION_H_
#define VITRINE_SERVER_AUTHORIZATION_H_

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Who may call a method.
enum class Access {
  kOpen,  // everyone who reaches the listener
};

struct MethodPolicy {
  std::string_view method;  // "/vitrine.v1.Classifier/Classify"
  Access access = Access::kOpen;
};

// Every method that may be called. What has no row here is refused.
std::span<const MethodPolicy> Policies();

// PERMISSION_DENIED for a method without a row. Every call asks this before it looks at its message: interceptors of
// gRPC C++ cannot reject, so the check stands in the calls themselves.
absl::Status Authorize(std::string_view method);

}  // namespace vitrine

#endif  // VITRINE_SERVER_AUTHORIZATION_H_
