// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALL_CREDENTIALS_H_
#define VITRINE_SERVER_WIRE_RPC_CALL_CREDENTIALS_H_

#include <grpcpp/server_context.h>

#include "server/identity/credentials.h"

namespace vitrine {

// What came with a call: the header "authorization" and the client's certificate, which TLS has verified. The user
// behind a unix socket and the kind of listener are not in the context; listeners that know them add them.
Credentials CredentialsOf(const grpc::ServerContextBase& context);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_CREDENTIALS_H_
