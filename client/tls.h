// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TLS_H_
#define VITRINE_CLIENT_TLS_H_

#include <grpcpp/security/credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace vitrine {

// What a TLS connection shows and believes. NOT_FOUND or PERMISSION_DENIED: a file that cannot be read;
// INVALID_ARGUMENT: one that holds no certificate or no key, a key of another certificate, one that has expired. Each
// names the file.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TLS_H_
