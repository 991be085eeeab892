// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_TOKEN_H_
#define VITRINE_CLIENT_LIB_CONNECT_TOKEN_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace grpc::experimental {
class ClientInterceptorFactoryInterface;
}

namespace vitrine {

// A bearer token from a text or from a file. The file may be replaced while the client runs, as Kubernetes does.
// Thread-safe.
class BearerToken {
 public:
  // Interval at which the file is read again.
  static constexpr absl::Duration kReread = absl::Minutes(1);

  // Create a token. INVALID_ARGUMENT: the token is empty, or contains characters that a header must not have. FromFile
  // also returns the errors of ReadSmallFile.
  static absl::StatusOr<std::shared_ptr<BearerToken>> FromText(const std::string& token);
  static absl::StatusOr<std::shared_ptr<BearerToken>> FromFile(const std::string& path);

  // Returns the newest token that could be read.
  std::string Get(absl::Time now);
  // Must be called after a server has rejected the token `refused`. Returns true if the file now has another token.
  bool IsReplaced(const std::string& refused);

 private:
  BearerToken(std::string path, std::string token, absl::Time read)
      : path_(std::move(path)), token_(std::move(token)), read_(read) {}

  void ReadAgain(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;  // empty: the token never changes

  absl::Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
  absl::Time read_ ABSL_GUARDED_BY(mutex_);
};

// Returns a factory of interceptors that add "authorization: Bearer <token>" to every call of a channel.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> Authorizing(std::shared_ptr<BearerToken> token);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_TOKEN_H_
