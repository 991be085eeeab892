// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
#define VITRINE_SERVER_IDENTITY_CREDENTIALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

// Credentials of a call. Holds secrets: must never be logged or quoted in an error.
struct Credentials {
  // Value of the header "authorization", unchanged; "" if the header is repeated.
  std::optional<std::string> authorization = std::nullopt;
  // Names of the client's certificate, once TLS has verified it: the subject alternative names, then the subject by RFC
  // 2253.
  std::vector<std::string> certificate_names = {};
  // User behind a unix socket.
  std::optional<uint32_t> uid = std::nullopt;
  // True if the call came through the admin listener.
  bool on_admin_listener = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
