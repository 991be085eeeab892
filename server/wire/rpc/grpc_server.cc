// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_server.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/http/request_id.h"
#include "server/process/crash_stack.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {
namespace {

constexpr char kGzip[] = "gzip";
// Maximum interval between two checks for expired calls.
constexpr absl::Duration kDeadlinePeriod = absl::Milliseconds(100);

HttpHandling Refuse(const std::shared_ptr<HttpRequest>& request, const absl::Status& status,
                    const HttpHeaders& beside = {}) {
  return HttpHandling::Stream([=](const std::shared_ptr<HttpStream>& stream) {
    stream->Send(TrailersOnly(*request, status, beside));
    return nullptr;
  });
}

// Drops the headers that open calls do not read: a client can send large headers in a few bytes (HPACK), and a stream
// may stay open for long.
void DropUnreadHeaders(HttpRequest& request) {
  constexpr absl::string_view kRead[] = {"content-type", "authorization",  "user-agent",
                                         "traceparent",  kRequestIdHeader, kMessageBytesMetadata};
  std::erase_if(request.head.headers, [&](const auto& header) {
    return std::find(std::begin(kRead), std::end(kRead), header.first) == std::end(kRead);
  });
  request.head.headers.shrink_to_fit();
}

HttpHandling RefuseAsHttp(int code, std::string sentence, HttpHeaders headers = {}) {
  return HttpHandling::Answer(
      {.code = code, .type = kPlainText, .body = std::move(sentence) + "\n", .headers = std::move(headers)});
}

}  // namespace

GrpcServer::GrpcServer(GrpcServerOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      body_workers_({.name = "bodies",
                     .threads = options_.body_threads,
                     .most = 4096,
                     .most_per_account = 1024,
                     .on_thread = WithCrashStack}) {}

GrpcServer::~GrpcServer() {
  for (int64_t left = calls_.load(); left != 0; left = calls_.load()) calls_.wait(left);
}

void GrpcServer::Add(std::string_view path, Open open) {
  methods_.emplace(path, std::move(open));
}

std::vector<std::string> GrpcServer::services() const {
  std::vector<std::string> services;
  for (const auto& [path, open] : methods_) {
    std::string service = path.substr(1, path.rfind('/') - 1);
    if (services.empty() || services.back() != service) services.push_back(std::move(service));
  }
  return services;
}

bool GrpcServer::Takes(const HttpRequest& request) const {
  return IsGrpcType(request.Header("content-type").value_or("")) ||
         (request.method() == "POST" && methods_.contains(request.path()));
}

void GrpcServer::EndExpiredCalls() {
  std::vector<std::shared_ptr<GrpcCall>> expired;
  {
    const absl::Time now = clock_.Now();
    MutexLock lock(mutex_);
    const auto next = expiring_.upper_bound(now);
    for (auto each = expiring_.begin(); each != next; ++each) {
      if (auto held = each->second->weak_from_this().lock(); held != nullptr) expired.push_back(std::move(held));
    }
    if (deadlines_ != nullptr && next != expiring_.end()) deadlines_->TickIn(next->first - now);
  }
  for (const std::shared_ptr<GrpcCall>& call : expired) call->OnDeadline();
}

absl::Status GrpcServer::StartDeadlines() {
  MutexLock lock(mutex_);  // the new thread reads deadlines_
  deadlines_ = TryToTick(kDeadlinePeriod, [this] { EndExpiredCalls(); });
  return deadlines_ != nullptr ? absl::OkStatus()
                               : absl::UnavailableError("the system allows the process no more threads");
}

// Calls TickIn only for a deadline within kDeadlinePeriod. Before a later deadline passes, the ticker calls
// EndExpiredCalls anyway.
GrpcServer::Expiring::iterator GrpcServer::AddExpiring(GrpcCall& call) {
  const absl::Duration left = call.deadline() - clock_.Now();
  MutexLock lock(mutex_);
  if (deadlines_ != nullptr && left < kDeadlinePeriod) deadlines_->TickIn(left);
  return expiring_.emplace_hint(expiring_.end(), call.deadline(), &call);
}

HttpHandling GrpcServer::Begin(const std::shared_ptr<HttpRequest>& request) {
  if (!IsProtobufType(request->Header("content-type").value_or(""))) {
    return RefuseAsHttp(415, "the Content-Type must be application/grpc or application/grpc+proto");
  }
  if (request->method() != "POST") return RefuseAsHttp(405, "gRPC accepts only POST", {{"allow", "POST"}});
  const bool is_plain = request->query().empty() && !request->head.has_escapes;
  const auto method = is_plain ? methods_.find(request->path()) : methods_.end();
  if (method == methods_.end()) {
    return Refuse(request, absl::UnimplementedError(absl::StrCat("there is no method ",
                                                                 absl::CHexEscape(request->path().substr(0, 256)),
                                                                 " here", options_.unknown_hint)));
  }
  absl::Duration timeout = absl::InfiniteDuration();
  if (const std::optional<std::string> value = request->Header("grpc-timeout"); value.has_value()) {
    const std::optional<absl::Duration> parsed = ParseGrpcTimeout(*value);
    if (!parsed.has_value()) {
      return Refuse(request, absl::InvalidArgumentError(
                                 absl::StrCat("grpc-timeout is \"", absl::CHexEscape(value->substr(0, 32)),
                                              "\"; it must be 1 to 8 digits and one of H, M, S, m, u, n")));
    }
    if (*parsed == absl::ZeroDuration()) return Refuse(request, absl::DeadlineExceededError("Deadline Exceeded"));
    timeout = *parsed;
  }
  const std::string encoding = request->Header("grpc-encoding").value_or("identity");
  const bool is_gzip = encoding == kGzip && options_.takes_gzip;
  if (!is_gzip && encoding != "identity") {
    return Refuse(
        request,
        absl::UnimplementedError(absl::StrCat("grpc-encoding is \"", absl::CHexEscape(encoding.substr(0, 32)),
                                              "\"; it must be ", options_.takes_gzip ? "gzip or " : "", "identity")),
        {{"grpc-accept-encoding", options_.takes_gzip ? "identity, gzip" : "identity"}});
  }
  const bool wants_gzip = is_gzip && HasEncoding(request->Header("grpc-accept-encoding").value_or(""), kGzip);
  if (!options_.keeps_metadata) DropUnreadHeaders(*request);
  return HttpHandling::Stream([=, this, open = &method->second, deadline = clock_.Now() + timeout](
                                  std::shared_ptr<HttpStream> stream) -> std::shared_ptr<HttpStreamHandler> {
    std::shared_ptr<GrpcCall> call = (*open)({.server = *this,
                                              .request = request,
                                              .stream = std::move(stream),
                                              .deadline = deadline,
                                              .is_gzip = is_gzip,
                                              .wants_gzip = wants_gzip});
    call->Begin();
    return call;
  });
}

}  // namespace vitrine
