// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_ADMIN_CLIENT_H_
#define VITRINE_CLIENT_LIB_ADMIN_CLIENT_H_

#include <memory>
#include <variant>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// A change of the serving settings.
using AdminChange =
    std::variant<v1::LoadModelRequest, v1::UnloadModelRequest, v1::RollbackModelRequest, v1::SetVersionPolicyRequest,
                 v1::SetTrafficRequest, v1::SetLabelRequest, v1::ClearLabelRequest, v1::ResetServingRequest>;

// A connection to the Admin service of a server. `options.address` is the address of vitrine-server --admin. The
// contract (proto/vitrine/v1/admin.proto) defines the codes and messages of errors. A call is retried only if its token
// was rejected and the token file now has another token. If the connection breaks during a change, GetServing shows
// whether the change was made. Thread-safe; every call blocks, at most for options.deadline.
class AdminClient {
 public:
  // Connects. INVALID_ARGUMENT: an option is invalid. UNAVAILABLE: no server answers at the address.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(const ClientOptions& options);
  ~AdminClient();

  // Makes the change. Returns when it is complete and the versions that it needs are loaded.
  absl::StatusOr<v1::ServingChange> Make(const AdminChange& change);
  absl::StatusOr<v1::ServingStatus> GetServing(const v1::GetServingRequest& request);

 private:
  struct Connection;
  explicit AdminClient(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_ADMIN_CLIENT_H_
