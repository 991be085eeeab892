// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/classify_front.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "server/observe/trace_context.h"
#include "server/process/out_of_memory.h"
#include "server/serve/scheduling/answer_budget.h"
#include "server/wire/http/address.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/awaited_answer.h"
#include "server/wire/http/classify_json.h"
#include "server/wire/http/classify_query.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http/models_json.h"
#include "server/wire/http/refusal.h"

namespace vitrine {

// What a path under /v1/models names.
struct HttpClassifyFront::Target {
  std::string model = {};
  std::string version = {};  // empty where the path has none
};

namespace {

constexpr char kClassifyVerb[] = ":classify";
// Who asks for maps wants them, whatever their size.
constexpr int64_t kHttpAttentionBytes = int64_t{16} << 20;

// Kept until the answer was written.
struct HeldClassification {
  int requests = 0;
  std::shared_ptr<AnswerReservation> room = {};
};
using AwaitedClassification = AwaitedAnswer<v1::ClassifyResponse, HeldClassification>;

absl::Status NothingHere(const HttpRequest& request) {
  return absl::NotFoundError(absl::StrCat(
      "nothing answers ", request.method(), " here; there are GET /v1/models and POST ",
      "/v1/models/NAME[/versions/V]:classify, to which a picture is sent like this: ", CurlLine(request, "", "")));
}

// Any other type is taken: of a picture curl says that it is a form. What is one is found by its bytes.
absl::Status CheckType(const HttpRequest& request, const std::string& curl_line) {
  const std::vector<std::string> parts = absl::StrSplit(request.Header("Content-Type").value_or(""), ';');
  if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]), "application/json")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the Content-Type is application/json, but the body must be the bytes of a JPEG or PNG as they are, and what "
      "else is asked for stands in the URL: ",
      curl_line));
}

// A body that comes in chunks, is compressed otherwise or ends early is told the way out too.
absl::StatusOr<std::string> ReadPictureBody(HttpRequest& request, const std::string& curl_line) {
  absl::StatusOr<std::string> body = request.ReadBody();
  if (!absl::IsInvalidArgument(body.status())) return body;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(body.status().message()), "; a picture is sent like this: ", curl_line));
}

}  // namespace

HttpResponse HttpClassifyFront::Serve(HttpRequest& request) {
  absl::StatusOr<HttpResponse> response = OrOutOfMemory([&] { return Route(request); });
  return response.ok() ? *std::move(response) : Refusal(response.status(), TypedErrorBody(response.status()));
}

absl::StatusOr<HttpResponse> HttpClassifyFront::Route(HttpRequest& request) {
  const std::vector<std::string> path = absl::StrSplit(request.path(), '/', absl::SkipEmpty());
  if (path.size() < 2 || path[0] != "v1" || path[1] != "models") return NothingHere(request);
  if (path.size() == 2) {
    if (request.method() != "GET" && request.method() != "HEAD") return NothingHere(request);
    ASSIGN_OR_RETURN(const Caller caller,
                     AuthorizeHttp(identity_, service_, "/vitrine.v1.Registry/ListModels", request));
    return HttpResponse{.body = ModelsJson(registry_.List(), caller)};
  }
  if (!absl::EndsWith(path.back(), kClassifyVerb) || request.method() != "POST") return NothingHere(request);
  std::string last = path.back().substr(0, path.back().size() - (sizeof(kClassifyVerb) - 1));
  if (path.size() == 3) return Classify({.model = std::move(last)}, request);
  if (path.size() != 5 || path[3] != "versions" || last.empty()) return NothingHere(request);
  return Classify({.model = path[2], .version = std::move(last)}, request);
}

absl::StatusOr<v1::ClassifyRequest> HttpClassifyFront::Read(const Target& target, const absl::StatusOr<Caller>& caller,
                                                            HttpRequest& request, CallContext& call) {
  RETURN_IF_ERROR(caller.status());
  RETURN_IF_ERROR(CheckModel(*caller, target.model));
  const std::string curl_line = CurlLine(request, target.model, target.version);
  RETURN_IF_ERROR(CheckType(request, curl_line));
  ASSIGN_OR_RETURN(ClassifyQuery query, ParseClassifyQuery(request.query()));
  call.deadline = std::min(call.deadline, service_.clock().Now() + query.timeout);
  ASSIGN_OR_RETURN(v1::ClassifyRequest wanted, AddressOf(target.model, target.version));
  if (!target.version.empty() && !query.request.version_label().empty()) {
    return absl::InvalidArgumentError("the path names a version already; leave version_label out, or /versions/V");
  }
  wanted.MergeFrom(query.request);
  ASSIGN_OR_RETURN(std::string body, ReadPictureBody(request, curl_line));
  // Found here, since the model says how many layers and heads "all" are; the same version answers, and what is wrong
  // from here on counts as its requests.
  ASSIGN_OR_RETURN(call.model, service_.Find(wanted, *caller));
  call.is_routed = LeavesTheVersionOpen(wanted);
  RETURN_IF_ERROR(CheckPicture(body, curl_line));
  wanted.set_image(std::move(body));
  for (const AttentionParameter& wish : query.attention) {
    ASSIGN_OR_RETURN(*wanted.add_attention(), AttentionOf(wish, call.model->attention, query.attention_encoding));
  }
  if (!query.attention.empty()) wanted.set_max_attention_bytes(kHttpAttentionBytes);
  return wanted;
}

HttpResponse HttpClassifyFront::Classify(const Target& target, HttpRequest& request) {
  const auto room = std::make_shared<AnswerReservation>();
  const auto awaited = std::make_shared<AwaitedClassification>(service_.ledger());
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Classifier/Classify", request);
  CallContext call = {.caller = CallerOf(caller),
                      .peer = request.peer(),
                      .method = Method::kHttpClassify,
                      .deadline = service_.clock().Now() + kMaxHttpWait,
                      .cancelled = nullptr,  // that a client hung up is noticed when its answer is written
                      .trace = ParseTraceparent(request.Header("traceparent").value_or("")),
                      .room = room};
  absl::StatusOr<v1::ClassifyRequest> message = OrOutOfMemory([&] { return Read(target, caller, request, call); });
  service_.Classify(std::move(message), std::move(call), [awaited, room](absl::StatusOr<v1::ClassifyResponse> answer) {
    awaited->Finish(std::move(answer), {.requests = 1, .room = room});
  });
  const absl::StatusOr<v1::ClassifyResponse> answer = awaited->Await();
  HttpResponse response = answer.ok() ? HttpResponse{.body = ClassifyJson(*answer)}
                                      : Refusal(answer.status(), TypedErrorBody(answer.status()));
  response.held = awaited;
  return response;
}

}  // namespace vitrine
