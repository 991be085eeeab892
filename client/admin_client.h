// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_ADMIN_CLIENT_H_
#define VITRINE_CLIENT_ADMIN_CLIENT_H_

#include <memory>
#include <variant>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// One change of what a server serves.
using AdminChange =
    std::variant<v1::LoadModelRequest, v1::UnloadModelRequest, v1::RollbackModelRequest, v1::SetVersionPolicyRequest,
                 v1::SetTrafficRequest, v1::SetLabelRequest, v1::ClearLabelRequest, v1::ResetServingRequest>;

// A connection to the Admin service of a server, which has a listener of its own: `options.address` is that one. Errors
// are those of the contract (proto/vitrine/v1/admin.proto), code and sentence unchanged. Nothing is tried twice,
// but what was refused for a token that its file has replaced: whether a change that was cut off was made, GetServing
// tells. Thread-safe; every call blocks, at most options.deadline.
class AdminClient {
 public:
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no server answers there.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(const ClientOptions& options);
  ~AdminClient();

  // Returns when the server has done it: versions that it needs are loaded.
  absl::StatusOr<v1::ServingChange> Make(const AdminChange& change);
  absl::StatusOr<v1::ServingStatus> GetServing(const v1::GetServingRequest& request);

 private:
  struct Connection;
  explicit AdminClient(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ADMIN_CLIENT_H_
