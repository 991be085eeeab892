// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/token.h"

#include <grpcpp/support/client_interceptor.h>

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/lib/connect/small_file.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kLongest = 16 << 10;

// Validates a token. `where` names the token's source in errors, which never contain the token itself.
absl::StatusOr<std::string> Checked(const std::string& text, const std::string& where) {
  std::string token(absl::StripAsciiWhitespace(text));
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(where, " is empty"));
  if (!std::ranges::all_of(token, [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " has spaces or non-ASCII characters, which are invalid in a header"));
  }
  return token;
}

absl::StatusOr<std::string> Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kLongest));
  return Checked(text, absl::StrCat("the token in ", path));
}

class Interceptor final : public grpc::experimental::Interceptor {
 public:
  explicit Interceptor(BearerToken& token) : token_(token) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert({"authorization", absl::StrCat("Bearer ", token_.Get(absl::Now()))});
    }
    methods->Proceed();
  }

 private:
  BearerToken& token_;
};

class Factory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit Factory(std::shared_ptr<BearerToken> token) : token_(std::move(token)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new Interceptor(*token_);  // gRPC takes ownership
  }

 private:
  const std::shared_ptr<BearerToken> token_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<BearerToken>> BearerToken::FromText(const std::string& token) {
  ASSIGN_OR_RETURN(std::string checked, Checked(token, "the token"));
  return std::shared_ptr<BearerToken>(new BearerToken("", std::move(checked), absl::InfiniteFuture()));
}

absl::StatusOr<std::shared_ptr<BearerToken>> BearerToken::FromFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string token, Read(path));
  return std::shared_ptr<BearerToken>(new BearerToken(path, std::move(token), absl::Now()));
}

std::string BearerToken::Get(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now - read_ >= kReread) ReadAgain(now);
  return token_;
}

bool BearerToken::IsReplaced(const std::string& refused) {
  absl::MutexLock lock(&mutex_);
  if (token_ == refused) ReadAgain(absl::Now());
  return token_ != refused;
}

void BearerToken::ReadAgain(absl::Time now) {
  if (path_.empty()) return;
  read_ = now;
  // If the file cannot be read, for example while it is replaced, it is read again a minute later.
  if (absl::StatusOr<std::string> newer = Read(path_); newer.ok()) token_ = *std::move(newer);
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> Authorizing(std::shared_ptr<BearerToken> token) {
  return std::make_unique<Factory>(std::move(token));
}

}  // namespace vitrine
