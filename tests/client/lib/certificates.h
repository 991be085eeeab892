// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LIB_CERTIFICATES_H_
#define VITRINE_TESTS_CLIENT_LIB_CERTIFICATES_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "tests/scratch_folder.h"

namespace vitrine {

// TLS certificates made by openssl. One CA (ca.pem) signs the certificates of a server (server.pem, for the name
// "vitrine.test") and of a client (client.pem). Another CA (other.pem) signs stranger.pem. The keys are in server.key
// and so on.
class Certificates {
 public:
  Certificates();

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  // Writes expired.pem, a copy of the client's certificate that expired an hour ago.
  void MakeExpired() const;
  // Returns server credentials with server.pem. If `client_wanted` is true, the server requires a client certificate
  // that ca.pem has signed.
  std::shared_ptr<grpc::ServerCredentials> OfServer(bool client_wanted = false) const;

 private:
  const ScratchFolder folder_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LIB_CERTIFICATES_H_
