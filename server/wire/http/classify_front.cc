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
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/drawing/answer_json.h"
#include "common/drawing/attention_words.h"
#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/wire/http/address.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/classify_query.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http/held_answer.h"
#include "server/wire/http/models_json.h"
#include "server/wire/http/refusal.h"
#include "server/wire/http/timeout.h"

namespace vitrine {

// Model and version in a path under /v1/models.
struct HttpClassifyFront::Target {
  std::string model = {};
  std::string version = {};  // empty if the path has none
};

// A classification whose body has not arrived yet.
struct HttpClassifyFront::Pending {
  CallContext call = {};
  v1::ClassifyRequest wanted = {};  // fields except the image and the attention
  ClassifyQuery query = {};
  std::string curl_line = {};
};

namespace {

constexpr char kClassifyVerb[] = ":classify";
// Limit on the bytes of attention and features in an answer. It replaces the lower default of the gRPC API, because a
// client that requests maps or features needs all of them.
constexpr int64_t kHttpAttentionBytes = int64_t{16} << 20;

absl::Status NothingHere(const HttpRequest& request) {
  return absl::NotFoundError(
      absl::StrCat("nothing answers ", request.method(),
                   " here; there are GET /v1/models, /v1/models/NAME[/versions/V], /v1/status, ",
                   "POST /v1/embeddings and POST /v1/models/NAME[/versions/V]:classify, to which an image is sent "
                   "like this: ",
                   CurlLine(request, "", "")));
}

// Rejects a body whose type is JSON. All other types are accepted, because curl declares an image as a form; CheckImage
// then examines the bytes.
absl::Status CheckType(const HttpRequest& request, const std::string& curl_line) {
  const std::vector<std::string> parts = absl::StrSplit(request.Header("Content-Type").value_or(""), ';');
  if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]), "application/json")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the Content-Type is application/json, but the body must be the bytes of a JPEG, PNG or WebP as "
                   "they are; options are parameters of the URL: ",
                   curl_line));
}

// Returns the body. If the body ends early or its compression is not supported, adds `curl_line` to the error. If the
// body is too large, adds a remedy.
absl::StatusOr<std::string> CheckedBody(absl::StatusOr<std::string> body, const std::string& curl_line) {
  if (IsTooLarge(body.status())) {
    return TooLargeError(absl::StrCat(std::string(body.status().message()),
                                      " (--max-message-bytes); make the image smaller: convert IMAGE -auto-orient "
                                      "-resize '4096x4096>' small.jpg"));
  }
  if (!absl::IsInvalidArgument(body.status())) return body;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(body.status().message()), "; an image is sent like this: ", curl_line));
}

// Rejects features that the model lacks. The error has the names that features have in URLs; the later check in
// ClassifyService would use gRPC's names.
absl::Status CheckFeatures(const v1::ClassifyRequest& wanted, const FeatureAbility& ability) {
  const std::vector<v1::FeatureKind>& kinds = ability.kinds;
  for (const v1::FeatureRequest& feature : wanted.features()) {
    if (std::find(kinds.begin(), kinds.end(), feature.kind()) != kinds.end()) continue;
    std::vector<std::string> words;
    for (const v1::FeatureKind kind : kinds) words.push_back(FeatureKindName(kind));
    return absl::InvalidArgumentError(absl::StrCat("this model has no features of kind ",
                                                   FeatureKindName(feature.kind()), "; it has ",
                                                   words.empty() ? "none" : absl::StrJoin(words, ", ")));
  }
  return absl::OkStatus();
}

// Returns the complete request; the body is the image.
absl::StatusOr<ReceivedClassify> WithImage(v1::ClassifyRequest wanted, const ClassifyQuery& query,
                                           absl::StatusOr<std::string> sent, const std::string& curl_line,
                                           const LoadedModel& model) {
  ASSIGN_OR_RETURN(std::string body, CheckedBody(std::move(sent), curl_line));
  RETURN_IF_ERROR(CheckImage(body, curl_line));
  for (const AttentionParameter& requested : query.attention) {
    ASSIGN_OR_RETURN(*wanted.add_attention(), AttentionOf(requested, model.attention, query.attention_encoding));
  }
  RETURN_IF_ERROR(CheckFeatures(wanted, model.features));
  if (!query.attention.empty() || !wanted.features().empty()) wanted.set_max_attention_bytes(kHttpAttentionBytes);
  wanted.set_image(std::move(body));
  return ReceivedOf(std::move(wanted));
}

HttpResponse ResponseTo(const absl::StatusOr<v1::ClassifyResponse>& answer) {
  return answer.ok() ? HttpResponse{.body = AnswerJson(*answer)} : Refusal(answer.status(), TypedErrorBody);
}

}  // namespace

HttpHandling HttpClassifyFront::Begin(const std::shared_ptr<HttpRequest>& request) {
  absl::StatusOr<HttpHandling> next = Route(request);
  return next.ok() ? *std::move(next) : HttpHandling::Answer(Refusal(next.status(), TypedErrorBody));
}

absl::StatusOr<HttpHandling> HttpClassifyFront::Route(const std::shared_ptr<HttpRequest>& request) {
  const std::vector<std::string> path = absl::StrSplit(request->path(), '/', absl::SkipEmpty());
  if (path.size() < 2 || path[0] != "v1" || path[1] != "models") return NothingHere(*request);
  const bool is_get = request->method() == "GET" || request->method() == "HEAD";
  if (path.size() == 2) {
    if (!is_get) return HttpHandling::Answer(MethodNotAllowed("GET, HEAD", TypedErrorBody));
    ASSIGN_OR_RETURN(const Caller caller,
                     AuthorizeHttp(identity_, service_, "/vitrine.v1.Registry/ListModels", *request));
    return HttpHandling::Make([this, caller] { return HttpResponse{.body = ModelsJson(registry_.List(), caller)}; });
  }
  const bool names_version = path.size() == 5 && path[3] == "versions";
  if (path.size() != 3 && !names_version) return NothingHere(*request);
  const bool classifies = absl::EndsWith(path.back(), kClassifyVerb);
  std::string last = path.back().substr(0, path.back().size() - (classifies ? sizeof(kClassifyVerb) - 1 : 0));
  if (names_version && last.empty()) return NothingHere(*request);
  Target target = {.model = names_version ? path[2] : last, .version = names_version ? last : ""};
  if (classifies) {
    if (request->method() == "POST") return Classify(target, request);
    return HttpHandling::Answer(MethodNotAllowed("POST", TypedErrorBody));
  }
  if (!is_get && absl::StrContains(path.back(), ':')) return NothingHere(*request);
  if (!is_get) return HttpHandling::Answer(MethodNotAllowed("GET, HEAD", TypedErrorBody));
  return Describe(target, *request);
}

HttpHandling HttpClassifyFront::Describe(const Target& target, const HttpRequest& request) {
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Registry/GetModel", request);
  const absl::StatusOr<ModelHandle> model =
      caller.ok() ? FindAddressed(service_, *caller, target.model, target.version) : caller.status();
  if (!model.ok()) return HttpHandling::Answer(Refusal(model.status(), OpenAiErrorBody));
  return HttpHandling::Make([model = *model] { return HttpResponse{.body = ModelJson(*model)}; });
}

absl::Status HttpClassifyFront::ReadHead(const Target& target, const absl::StatusOr<Caller>& caller,
                                         const HttpRequest& request, Pending& pending) const {
  RETURN_IF_ERROR(caller.status());
  RETURN_IF_ERROR(CheckModel(*caller, target.model));
  pending.curl_line = CurlLine(request, target.model, target.version);
  RETURN_IF_ERROR(CheckType(request, pending.curl_line));
  ASSIGN_OR_RETURN(pending.query, ParseClassifyQuery(request.query()));
  pending.call.deadline = service_.clock().Now() + pending.query.deadline;
  ASSIGN_OR_RETURN(pending.wanted, AddressOf(target.model, target.version));
  if (!target.version.empty() && !pending.query.request.version_label().empty()) {
    return absl::InvalidArgumentError("the path already names a version; leave version_label out, or /versions/V");
  }
  pending.wanted.MergeFrom(pending.query.request);
  if (pending.wanted.request_id().empty()) pending.wanted.set_request_id(pending.call.request_id);
  pending.call.request_id = pending.wanted.request_id();
  // Finds the version before the image arrives, because "all" layers and heads depend on the model. The same version
  // computes the answer, and later errors are counted for its model.
  ASSIGN_OR_RETURN(ModelHandle model, service_.Find(pending.wanted, *caller));
  pending.call.version = {.model = std::move(model), .is_routed = NamesNoVersion(pending.wanted)};
  return absl::OkStatus();
}

HttpHandling HttpClassifyFront::Classify(const Target& target, const std::shared_ptr<HttpRequest>& request) {
  const auto pending = std::make_shared<Pending>();
  const absl::StatusOr<Caller> caller = AuthorizeHttp(identity_, service_, "/vitrine.v1.Classifier/Classify", *request);
  pending->call = HttpCall(Method::kHttpClassify, caller, *request);
  pending->call.form = {.scale = kJsonScale};
  const absl::Status why_not = ReadHead(target, caller, *request, *pending);
  if (!why_not.ok()) {
    return AnswerAtOnce([&](std::shared_ptr<HttpReply> reply) { Submit(why_not, *pending, std::move(reply)); });
  }
  return HttpHandling::Read([this, pending](absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
    absl::StatusOr<ReceivedClassify> message = WithImage(std::move(pending->wanted), pending->query, std::move(body),
                                                         pending->curl_line, *pending->call.version->model);
    Submit(std::move(message), *pending, std::move(reply));
  });
}

void HttpClassifyFront::Submit(absl::StatusOr<ReceivedClassify> message, Pending& pending,
                               std::shared_ptr<HttpReply> reply) {
  auto held = std::make_shared<AnswerResources>(service_.ledger());
  pending.call.held = held;
  pending.call.deadline = std::min(pending.call.deadline, service_.clock().Now() + kHttpTimeout);
  service_.Classify(
      std::move(message), std::move(pending.call),
      [held = std::move(held), reply = std::move(reply)](const absl::StatusOr<v1::ClassifyResponse>& answer) mutable {
        SendHeld(*reply, std::move(held), [&] { return ResponseTo(answer); });
      });
}

}  // namespace vitrine
