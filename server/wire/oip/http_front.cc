// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/http_front.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "server/observe/trace_context.h"
#include "server/process/out_of_memory.h"
#include "server/wire/http/address.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/awaited_answer.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http/json_document.h"
#include "server/wire/http/refusal.h"
#include "server/wire/oip/describe.h"
#include "server/wire/oip/http_body.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/message_json.h"

namespace vitrine {

// What a path under /v2/models names.
struct OipHttpFront::Target {
  std::string model;
  std::string version;  // empty where the path has none
  std::string verb;     // "infer", "ready", ...; empty for the model itself
};

namespace {

// JSON above this is read one at a time.
constexpr size_t kLargeJsonBytes = size_t{64} << 10;

HttpResponse Json(const google::protobuf::Message& message, int code = 200) {
  JsonDocument document;
  MessageToJson(message, document.root);
  return {.code = code, .body = document.Text()};
}

absl::Status NoSuchPath(const HttpRequest& request) {
  return absl::NotFoundError(absl::StrCat("nothing answers ", request.method(),
                                          " here; there are GET /v2, /v2/health/live, /v2/health/ready, "
                                          "/v2/models/NAME[/versions/V][/ready, /config, /stats] and POST "
                                          "/v2/models/NAME[/versions/V]/infer, and for pictures as they are POST "
                                          "/v1/models/NAME[/versions/V]:classify"));
}

using AwaitedInference = AwaitedAnswer<inference::ModelInferResponse, InferHeld>;

}  // namespace

HttpResponse OipHttpFront::Serve(HttpRequest& request) {
  absl::StatusOr<HttpResponse> response = OrOutOfMemory([&] { return Route(request); });
  return response.ok() ? *std::move(response) : Refusal(response.status(), ErrorBody(response.status()));
}

absl::StatusOr<HttpResponse> OipHttpFront::Route(HttpRequest& request) {
  const std::vector<std::string> path = absl::StrSplit(request.path(), '/', absl::SkipEmpty());
  const size_t size = path.size();
  if (size < 1 || path[0] != "v2") return NoSuchPath(request);
  const bool is_get = request.method() == "GET" || request.method() == "HEAD";
  if (size == 1 && is_get) {
    RETURN_IF_ERROR(
        AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ServerMetadata", request).status());
    return Json(ServerMetadata());
  }
  if (size == 3 && path[1] == "health" && is_get && (path[2] == "live" || path[2] == "ready")) {
    const std::string why_not = path[2] == "live" ? "" : health_.WhyNotServing();
    JsonDocument body;
    body.root = JsonObject();
    body.root[path[2]] = why_not.empty();
    return HttpResponse{.code = why_not.empty() ? 200 : 400, .body = body.Text()};
  }
  if (size == 3 && path[1] == "repository" && path[2] == "index" && request.method() == "POST") {
    return ServeIndex(request);
  }
  if (size < 3 || path[1] != "models") return NoSuchPath(request);
  Target target = {.model = path[2], .version = "", .verb = ""};
  size_t next = 3;
  if (size > 4 && path[3] == "versions") {
    target.version = path[4];
    next = 5;
  }
  if (size > next + 1) return NoSuchPath(request);
  if (size == next + 1) target.verb = path[next];
  if (target.verb == "infer") {
    if (request.method() == "POST") return Infer(target, request);
  } else if (is_get) {
    return ServeModel(target, request);
  }
  return NoSuchPath(request);
}

absl::StatusOr<ModelHandle> OipHttpFront::FindModel(RpcName rpc, const Target& target,
                                                    const HttpRequest& request) const {
  ASSIGN_OR_RETURN(const Caller caller, AuthorizeHttp(identity_, service_, rpc, request));
  RETURN_IF_ERROR(CheckModel(caller, target.model));
  ASSIGN_OR_RETURN(const v1::ClassifyRequest wanted, AddressOf(target.model, target.version));
  return service_.Find(wanted, caller);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeModel(const Target& target, HttpRequest& request) {
  if (target.verb.empty()) {
    ASSIGN_OR_RETURN(const ModelHandle model,
                     FindModel("/inference.GRPCInferenceService/ModelMetadata", target, request));
    return Json(ModelMetadata(*model, registry_));
  }
  if (target.verb == "ready") {
    ASSIGN_OR_RETURN(const ModelHandle model, FindModel("/inference.GRPCInferenceService/ModelReady", target, request));
    const bool ready = health_.Serves(model->id);
    JsonDocument body;
    body.root = JsonObject();
    body.root["name"] = target.model;
    body.root["ready"] = ready;
    return HttpResponse{.code = ready ? 200 : 400, .body = body.Text()};
  }
  if (target.verb == "config") {
    ASSIGN_OR_RETURN(const ModelHandle model,
                     FindModel("/inference.GRPCInferenceService/ModelConfig", target, request));
    return Json(ModelConfiguration(*model).config());
  }
  if (target.verb == "stats") return ServeStatistics(target, request);
  return NoSuchPath(request);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeStatistics(const Target& target, const HttpRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller,
                   AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ModelStatistics", request));
  RETURN_IF_ERROR(CheckModel(caller, target.model));
  inference::ModelStatisticsRequest wanted;
  wanted.set_name(target.model);
  wanted.set_version(target.version);
  ASSIGN_OR_RETURN(const inference::ModelStatisticsResponse statistics, Statistics(registry_, caller, wanted));
  return Json(statistics);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeIndex(HttpRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller,
                   AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/RepositoryIndex", request));
  const auto length = request.Header("Content-Length");
  bool ready = false;
  if (length.value_or("0") != "0") {
    ASSIGN_OR_RETURN(const std::string body, request.ReadBody());
    if (body.size() > kLargeJsonBytes) return absl::InvalidArgumentError("the body is too long for {\"ready\": true}");
    JsonDocument wanted;
    if (!wanted.Parse(body) || !wanted.root.is_object()) {
      return absl::InvalidArgumentError("the body is no JSON object");
    }
    const auto found = wanted.root.find("ready");
    ready = found != wanted.root.end() && found->is_boolean() && found->get<bool>();
  }
  JsonDocument index;
  MessageToJson(RepositoryIndex(registry_, caller, ready), index.root);
  return HttpResponse{.body = JsonDocument::TextOf(index.root["models"])};
}

absl::StatusOr<HttpInferRequest> OipHttpFront::ReadInfer(const Target& target, HttpRequest& request) {
  std::optional<size_t> json_bytes;
  if (const auto header = request.Header("Inference-Header-Content-Length"); header.has_value()) {
    if (!absl::SimpleAtoi(*header, &json_bytes.emplace())) {
      return absl::InvalidArgumentError("Inference-Header-Content-Length is no number");
    }
  }
  ASSIGN_OR_RETURN(const std::string body, request.ReadBody());
  if (!json_bytes.has_value() && LooksLikePicture(body)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is a picture, where this protocol has JSON; send it to :classify instead: ",
                     CurlLine(request, target.model, target.version)));
  }
  const auto read_alone = [&] {
    MutexLock lock(parsing_);
    return ReadInferBody(body, json_bytes);
  };
  const bool is_large = json_bytes.value_or(body.size()) > kLargeJsonBytes;
  absl::StatusOr<HttpInferRequest> read = is_large ? read_alone() : ReadInferBody(body, json_bytes);
  if (!read.ok()) return read;
  read->message.set_model_name(target.model);
  read->message.set_model_version(target.version);
  return read;
}

HttpResponse OipHttpFront::Infer(const Target& target, HttpRequest& request) {
  const absl::StatusOr<Caller> caller =
      AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ModelInfer", request);
  absl::StatusOr<HttpInferRequest> read = OrOutOfMemory([&]() -> absl::StatusOr<HttpInferRequest> {
    RETURN_IF_ERROR(caller.status());
    return ReadInfer(target, request);
  });
  absl::StatusOr<inference::ModelInferRequest> message =
      read.ok() ? absl::StatusOr<inference::ModelInferRequest>(std::move(read->message)) : read.status();

  const auto inference = std::make_shared<AwaitedInference>(service_.ledger());
  vitrine::Infer(service_, std::move(message),
                 {.caller = CallerOf(caller),
                  .peer = request.peer(),
                  .method = Method::kHttpInfer,
                  .deadline = service_.clock().Now() + kMaxHttpWait,
                  .cancelled = nullptr,  // that a client hung up is noticed when its answer is written
                  .trace = ParseTraceparent(request.Header("traceparent").value_or(""))},
                 [inference](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
                   inference->Finish(std::move(answer), std::move(held));
                 });
  const absl::StatusOr<inference::ModelInferResponse> answer = inference->Await();
  HttpResponse response;
  if (answer.ok()) {
    HttpInferBody body = WriteInferBody(*answer, *read);
    response.body = std::move(body.bytes);
    if (body.json_bytes.has_value()) {
      response.type = "application/octet-stream";
      response.headers.emplace_back("Inference-Header-Content-Length", absl::StrCat(*body.json_bytes));
    }
  } else {
    response = Refusal(answer.status(), ErrorBody(answer.status()));
  }
  response.held = inference;
  return response;
}

}  // namespace vitrine
