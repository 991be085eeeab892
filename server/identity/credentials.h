// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
#define VITRINE_SERVER_IDENTITY_CREDENTIALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

// Credentials of a call. They are secrets: never log them or quote them in an error.
struct Credentials {
  // Value of the header "authorization", unchanged; "" if the header occurs more than once.
  std::optional<std::string> authorization = std::nullopt;
  // Names in the client's certificate, once TLS has verified it: the subject alternative names, then the subject in RFC
  // 2253 form.
  std::vector<std::string> certificate_names = {};
  // User id of the client on a unix socket.
  std::optional<uint32_t> uid = std::nullopt;
  // True if the call came through the admin listener.
  bool on_admin_listener = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
