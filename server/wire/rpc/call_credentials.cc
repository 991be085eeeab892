// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_credentials.h"

#include <grpc/grpc_security_constants.h>

#include <memory>
#include <string>

namespace vitrine {

Credentials CredentialsOf(const grpc::ServerContextBase& context) {
  Credentials credentials;
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range("authorization");
  if (first != last) {
    const bool once = std::next(first) == last;
    credentials.authorization = once ? std::string(first->second.data(), first->second.size()) : std::string();
  }
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return credentials;
  for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_SUBJECT_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : peer->FindPropertyValues(property)) {
      credentials.certificate_names.emplace_back(value.data(), value.size());
    }
  }
  return credentials;
}

}  // namespace vitrine
