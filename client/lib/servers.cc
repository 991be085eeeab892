// SPDX-License-Identifier: Apache-2.0
#include "client/lib/servers.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/lib/channel.h"
#include "client/lib/connect/address.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kPeriod = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::shared_ptr<Servers>> Servers::Open(const ClientOptions& options,
                                                       const grpc::ChannelArguments& arguments) {
  std::shared_ptr<Servers> servers(new Servers(options, arguments));
  ASSIGN_OR_RETURN(servers->token_, TokenOf(options));
  ASSIGN_OR_RETURN(std::string target, TargetOf(options));
  absl::MutexLock lock(&servers->mutex_);
  ASSIGN_OR_RETURN(servers->channel_, ChannelTo(target, options, servers->arguments_, servers->token_));
  servers->target_ = std::move(target);
  return servers;
}

absl::StatusOr<std::shared_ptr<Servers>> Servers::Open(const ClientOptions& options) {
  return Open(options, ClientArguments(options));
}

std::shared_ptr<grpc::Channel> Servers::channel() const {
  absl::MutexLock lock(&mutex_);
  return channel_;
}

void Servers::Look() {
  const absl::StatusOr<ServerAddress> address = ParseAddress(options_.address);
  if (!address.ok() || address->hosts.empty()) return;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = absl::Now();
    if (now - looked_ < kPeriod) return;
    looked_ = now;
  }
  const absl::StatusOr<std::string> target = ResolveHosts(address->hosts, /*partly=*/true);
  absl::MutexLock lock(&mutex_);
  if (!target.ok() || *target == target_) return;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = ChannelTo(*target, options_, arguments_, token_);
  if (!channel.ok()) return;  // for example, a TLS file is being replaced
  channel_ = *std::move(channel);
  target_ = *target;
  channel_->GetState(/*try_to_connect=*/true);
}

std::string Servers::Token() {
  return token_ == nullptr ? "" : token_->Get(absl::Now());
}

absl::Status Servers::Follow(absl::Status status, const std::string& sent) {
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) Look();
  if (absl::IsUnauthenticated(status) && token_ != nullptr && token_->IsReplaced(sent)) {
    return absl::UnavailableError(status.message());
  }
  return status;
}

}  // namespace vitrine
