// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_SURROUNDINGS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_SURROUNDINGS_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "models/tool/publish/import/https.h"

namespace vitrine {

// The network, the clock and the environment of a program; tests replace them.
struct Surroundings {
  Transport ask = Ask;
  std::function<absl::Time()> now = absl::Now;
  // Returns an environment variable; empty if it is not set.
  std::function<std::string(const std::string& name)> variable = Variable;

  static std::string Variable(const std::string& name);
};

// Returns a file of credentials, at most a megabyte. NOT_FOUND names the path.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

// A credential with a member `absl::Time expires`. It is fetched when first needed, and again before it expires.
template <typename Credential>
class Renewed {
 public:
  using Fetch = std::function<absl::StatusOr<Credential>()>;
  Renewed(Fetch fetch, std::function<absl::Time()> now) : fetch_(std::move(fetch)), now_(std::move(now)) {}

  // Returns the credential. Fetches a new credential in the last quarter of the present credential's life, at most five
  // minutes before its end. If the fetch fails, returns the present credential while it is valid.
  absl::StatusOr<Credential> Get() {
    const absl::Time now = now_();
    if (now < renew_) return *current_;
    absl::StatusOr<Credential> fresh = fetch_();
    if (!fresh.ok()) {
      if (current_.ok() && now < current_->expires) return current_;
      return fresh;
    }
    current_ = std::move(fresh);
    const absl::Duration life = current_->expires - now;
    renew_ = current_->expires - std::min(life / 4, absl::Minutes(5));
    return current_;
  }

  // Makes the next Get fetch a new credential, for example because a service has refused the present credential.
  void Forget() {
    renew_ = absl::InfinitePast();
    current_ = absl::UnavailableError("no credentials");
  }

 private:
  const Fetch fetch_;
  const std::function<absl::Time()> now_;
  absl::StatusOr<Credential> current_ = absl::UnavailableError("no credentials");
  absl::Time renew_ = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_SURROUNDINGS_H_
