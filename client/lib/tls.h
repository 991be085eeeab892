// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_TLS_H_
#define VITRINE_CLIENT_LIB_TLS_H_

#include <grpcpp/security/credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace vitrine {

// Returns TLS credentials. NOT_FOUND or PERMISSION_DENIED: a file cannot be read. INVALID_ARGUMENT: a file has no
// certificate or key, the key belongs to another certificate, or the certificate has expired. The message names the
// file.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_TLS_H_
