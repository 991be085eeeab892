// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
#define VITRINE_SERVER_IDENTITY_CREDENTIALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

// What a call brings to say who it is. Holds secrets: it is never logged and never quoted in an error.
struct Credentials {
  // The value of the header "authorization", as it came; "" for one that is there twice.
  std::optional<std::string> authorization = std::nullopt;
  // Of the client's certificate, once TLS has verified it: the subject alternative names, then the subject by RFC 2253.
  std::vector<std::string> certificate_names = {};
  // The user behind a unix socket.
  std::optional<uint32_t> uid = std::nullopt;
  // The call came through the admin listener.
  bool on_admin_listener = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_CREDENTIALS_H_
