// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/http_front.h"

#include <google/protobuf/message.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/wire/http/address.h"
#include "server/wire/http/authorize.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http/held_answer.h"
#include "server/wire/http/json_document.h"
#include "server/wire/http/refusal.h"
#include "server/wire/http/timeout.h"
#include "server/wire/oip/describe.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/infer_body.h"
#include "server/wire/oip/infer_plan.h"

namespace vitrine {

// Parts of a path under /v2/models.
struct OipHttpFront::Target {
  std::string model;
  std::string version;  // empty if the path has none
  std::string verb;     // action on the model: "infer", "ready", ...; empty for the model itself
};

// An inference whose body has not arrived yet.
struct OipHttpFront::Pending {
  Target target = {};
  CallContext call = {};
  std::optional<size_t> json_bytes = {};
  std::string curl_line = {};
};

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::json;

// Maximum size of a request body for the repository index.
constexpr size_t kMaxIndexBytes = size_t{64} << 10;

// Converts a message to the protocol's REST form: fields have the names of the .proto, whole numbers are JSON numbers
// (protobuf's own JSON writes strings), and enums are names. Fields without presence are always written; other fields
// are written only if they are set. No field may be a map. `object` is part of a JsonDocument.
void MessageToJson(const Message& message, json& object);

// Converts one value: element `i` of a repeated field, or the whole field if `i` is negative.
void PutValue(const Message& message, const FieldDescriptor* field, int i, json& value) {
  const Reflection& at = *message.GetReflection();
#define VITRINE_VALUE(TYPE) (i < 0 ? at.Get##TYPE(message, field) : at.GetRepeated##TYPE(message, field, i))
#define VITRINE_NUMBER(CPPTYPE, TYPE)      \
  case FieldDescriptor::CPPTYPE_##CPPTYPE: \
    value = VITRINE_VALUE(TYPE);           \
    break;
  switch (field->cpp_type()) {
    VITRINE_NUMBER(BOOL, Bool)
    VITRINE_NUMBER(INT32, Int32)
    VITRINE_NUMBER(INT64, Int64)
    VITRINE_NUMBER(UINT32, UInt32)
    VITRINE_NUMBER(UINT64, UInt64)
    VITRINE_NUMBER(FLOAT, Float)
    VITRINE_NUMBER(DOUBLE, Double)
    VITRINE_NUMBER(STRING, String)
    case FieldDescriptor::CPPTYPE_ENUM:
      value = VITRINE_VALUE(Enum)->name();
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      MessageToJson(VITRINE_VALUE(Message), value);
  }
#undef VITRINE_NUMBER
#undef VITRINE_VALUE
}

void MessageToJson(const Message& message, json& object) {
  object = JsonObject();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) {
      json& list = object[field->name()];
      list = JsonArray();
      const int size = message.GetReflection()->FieldSize(message, field);
      for (int each = 0; each < size; ++each) PutValue(message, field, each, Append(list));
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      PutValue(message, field, -1, object[field->name()]);
    }
  }
}

HttpResponse Json(const Message& message, int code = 200) {
  JsonDocument document;
  MessageToJson(message, document.root);
  return {.code = code, .body = document.Text()};
}

using Path = std::vector<std::string>;

// Returns the HTTP methods that a path supports; empty if the path is unknown.
absl::string_view MethodsOf(const Path& path) {
  constexpr absl::string_view kGet = "GET, HEAD", kPost = "POST";
  const size_t size = path.size();
  if (size < 1 || path[0] != "v2") return "";
  if (size == 1) return kGet;
  if (path[1] == "health") return size == 3 && (path[2] == "live" || path[2] == "ready") ? kGet : "";
  if (path[1] == "repository") return size == 3 && path[2] == "index" ? kPost : "";
  if (path[1] != "models" || size < 3) return "";
  const size_t verb = size > 4 && path[3] == "versions" ? 5 : 3;
  if (size == verb) return kGet;
  if (size != verb + 1) return "";
  if (path[verb] == "infer") return kPost;
  return path[verb] == "ready" || path[verb] == "config" || path[verb] == "stats" ? kGet : "";
}

// Returns true for a path that belongs to a protocol extension which this server does not have.
bool IsOfOtherExtension(const Path& path) {
  if (path.size() < 2 || path[0] != "v2") return false;
  const std::string& name = path.size() > 3 && path[1] == "models" ? path[3] : path[1];
  return name == "trace" || name == "logging" || absl::EndsWith(name, "sharedmemory");
}

// Rejects a request whose path and method have no handler: 405, UNIMPLEMENTED or NOT_FOUND.
absl::StatusOr<HttpHandling> RefuseAt(const Path& path, const HttpRequest& request) {
  if (const absl::string_view methods = MethodsOf(path); !methods.empty()) {
    return HttpHandling::Answer(MethodNotAllowed(methods, ErrorBody));
  }
  if (IsOfOtherExtension(path)) {
    return absl::UnimplementedError("this extension of the protocol is not supported; GET /v2 lists those that are");
  }
  return absl::NotFoundError(absl::StrCat("nothing answers ", request.method(),
                                          " here; there are GET /v2, /v2/health/live, /v2/health/ready, "
                                          "/v2/models/stats, /v2/models/NAME[/versions/V][/ready, /config, /stats], "
                                          "POST /v2/repository/index and /v2/models/NAME[/versions/V]/infer, and for "
                                          "images as they are POST /v1/models/NAME[/versions/V]:classify"));
}

HttpResponse OrRefusal(absl::StatusOr<HttpResponse> response) {
  return response.ok() ? *std::move(response) : Refusal(response.status(), ErrorBody);
}

HttpResponse InferenceResponse(const inference::ModelInferResponse& answer, const HttpInferRequest& pending) {
  HttpInferBody body = WriteInferBody(answer, pending);
  HttpResponse response = {.body = std::move(body.bytes)};
  if (body.json_bytes.has_value()) {
    response.type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", absl::StrCat(*body.json_bytes));
  }
  return response;
}

}  // namespace

HttpHandling OipHttpFront::Begin(const std::shared_ptr<HttpRequest>& request) {
  absl::StatusOr<HttpHandling> next = Route(request);
  return next.ok() ? *std::move(next) : HttpHandling::Answer(OrRefusal(next.status()));
}

absl::StatusOr<HttpHandling> OipHttpFront::Route(const std::shared_ptr<HttpRequest>& request) {
  const Path path = absl::StrSplit(request->path(), '/', absl::SkipEmpty());
  const size_t size = path.size();
  if (size < 1 || path[0] != "v2") return RefuseAt(path, *request);
  const bool is_get = request->method() == "GET" || request->method() == "HEAD";
  if (size == 1 && is_get) {
    RETURN_IF_ERROR(
        AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ServerMetadata", *request).status());
    return HttpHandling::Answer(Json(ServerMetadata()));
  }
  if (size == 3 && path[1] == "health" && is_get && (path[2] == "live" || path[2] == "ready")) {
    const std::string why_not = path[2] == "live" ? "" : health_.WhyNotServing();
    JsonDocument body;
    body.root = JsonObject();
    body.root[path[2]] = why_not.empty();
    return HttpHandling::Answer({.code = why_not.empty() ? 200 : 400, .body = body.Text()});
  }
  if (size == 3 && path[1] == "repository" && path[2] == "index" && request->method() == "POST") {
    ASSIGN_OR_RETURN(const Caller caller,
                     AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/RepositoryIndex", *request));
    if (!request->head.AnnouncesBody()) {
      return HttpHandling::Make([this, caller] { return OrRefusal(ServeIndex(caller, "")); });
    }
    return HttpHandling::Read(
        [this, caller](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
          reply->Send([&] { return OrRefusal(ServeIndex(caller, body)); });
        });
  }
  const bool is_load = size == 5 && path[1] == "repository" && path[2] == "models" && request->method() == "POST" &&
                       (path[4] == "load" || path[4] == "unload");
  if (is_load) {
    return absl::PermissionDeniedError(
        "models are loaded and unloaded on the admin listener (--admin), over gRPC: vitrine admin load");
  }
  if (size < 3 || path[1] != "models" || MethodsOf(path).empty()) return RefuseAt(path, *request);
  if (size == 3 && path[2] == "stats" && is_get) {
    return HttpHandling::Make([this, request] { return OrRefusal(ServeStatistics({}, *request)); });
  }
  Target target = {.model = path[2], .version = "", .verb = ""};
  size_t next = 3;
  if (size > 4 && path[3] == "versions") {
    target.version = path[4];
    next = 5;
  }
  if (size == next + 1) target.verb = path[next];
  const bool infers = target.verb == "infer";
  if (infers && request->method() == "POST") return Infer(std::move(target), request);
  if (infers || !is_get) return RefuseAt(path, *request);
  return HttpHandling::Make(
      [this, target = std::move(target), request] { return OrRefusal(ServeModel(target, *request)); });
}

absl::StatusOr<FoundModel> OipHttpFront::FindModel(RpcName rpc, const Target& target,
                                                   const HttpRequest& request) const {
  ASSIGN_OR_RETURN(const Caller caller, AuthorizeHttp(identity_, service_, rpc, request));
  return FindNamed(service_, caller, target.model, target.version);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeModel(const Target& target, const HttpRequest& request) {
  if (target.verb.empty()) {
    ASSIGN_OR_RETURN(const FoundModel found,
                     FindModel("/inference.GRPCInferenceService/ModelMetadata", target, request));
    ASSIGN_OR_RETURN(const inference::ModelMetadataResponse metadata, ModelMetadata(found, registry_));
    return Json(metadata);
  }
  if (target.verb == "ready") {
    ASSIGN_OR_RETURN(const FoundModel found, FindModel("/inference.GRPCInferenceService/ModelReady", target, request));
    const bool ready = health_.Serves(found.model->id);
    JsonDocument body;
    body.root = JsonObject();
    body.root["name"] = target.model;
    body.root["ready"] = ready;
    return HttpResponse{.code = ready ? 200 : 400, .body = body.Text()};
  }
  if (target.verb == "config") {
    ASSIGN_OR_RETURN(const FoundModel found, FindModel("/inference.GRPCInferenceService/ModelConfig", target, request));
    ASSIGN_OR_RETURN(const inference::ModelConfigResponse configuration, ModelConfiguration(found));
    return Json(configuration.config());
  }
  return ServeStatistics(target, request);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeStatistics(const Target& target, const HttpRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller,
                   AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ModelStatistics", request));
  if (!target.model.empty()) {
    ASSIGN_OR_RETURN(const ModelName named, ReadModelName(target.model));
    RETURN_IF_ERROR(CheckModel(caller, named.model));
  }
  inference::ModelStatisticsRequest wanted;
  wanted.set_name(target.model);
  wanted.set_version(target.version);
  ASSIGN_OR_RETURN(const inference::ModelStatisticsResponse statistics, Statistics(registry_, caller, wanted));
  return Json(statistics);
}

absl::StatusOr<HttpResponse> OipHttpFront::ServeIndex(const Caller& caller, const absl::StatusOr<std::string>& body) {
  RETURN_IF_ERROR(body.status());
  bool ready = false;
  if (!body->empty()) {
    if (body->size() > kMaxIndexBytes) return absl::InvalidArgumentError("the body is too long for {\"ready\": true}");
    JsonDocument wanted;
    if (!wanted.Parse(*body) || !wanted.root.is_object()) {
      return absl::InvalidArgumentError("the body is not a JSON object");
    }
    const auto found = wanted.root.find("ready");
    ready = found != wanted.root.end() && found->is_boolean() && found->get<bool>();
  }
  JsonDocument index;
  MessageToJson(RepositoryIndex(registry_, caller, ready), index.root);
  return HttpResponse{.body = JsonDocument::TextOf(index.root["models"])};
}

absl::Status OipHttpFront::ReadHead(const absl::StatusOr<Caller>& caller, const HttpRequest& request,
                                    Pending& pending) const {
  RETURN_IF_ERROR(caller.status());
  ASSIGN_OR_RETURN(const ModelName named, ReadModelName(pending.target.model));
  RETURN_IF_ERROR(CheckModel(*caller, named.model));
  if (const auto header = request.Header("Inference-Header-Content-Length"); header.has_value()) {
    if (!absl::SimpleAtoi(*header, &pending.json_bytes.emplace())) {
      return absl::InvalidArgumentError("Inference-Header-Content-Length is not a number");
    }
  }
  pending.curl_line = CurlLine(request, named.model, pending.target.version);
  // Checks only that the version exists. The version that answers is chosen after the body is read, because the choice
  // depends on the request id, which may be in the body.
  ASSIGN_OR_RETURN(const v1::ClassifyRequest wanted, AddressOf(named.model, pending.target.version));
  return service_.Find(wanted, *caller).status();
}

absl::StatusOr<HttpInferRequest> OipHttpFront::ReadBody(const Pending& pending, absl::StatusOr<std::string> body) {
  if (IsTooLarge(body.status())) {
    return TooLargeError(absl::StrCat(std::string(body.status().message()),
                                      " (--max-message-bytes); base64 is a third larger than the image itself, which "
                                      "may be sent alone, here with Inference-Header-Content-Length: 0, or: ",
                                      pending.curl_line));
  }
  RETURN_IF_ERROR(body.status());
  if (!pending.json_bytes.has_value() && LooksLikeImage(*body)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body is an image, but this protocol needs JSON; send it to :classify instead: ", pending.curl_line));
  }
  BudgetShare parsed;
  ASSIGN_OR_RETURN(parsed, ReserveJson(parsed_, pending.json_bytes.value_or(body->size())));
  ASSIGN_OR_RETURN(HttpInferRequest read, ReadInferBody(*std::move(body), pending.json_bytes));
  inference::ModelInferRequest& message = read.infer.message;
  message.set_model_name(pending.target.model);
  message.set_model_version(pending.target.version);
  if (message.id().empty()) message.set_id(pending.call.request_id);
  return read;
}

HttpHandling OipHttpFront::Infer(Target target, const std::shared_ptr<HttpRequest>& request) {
  const auto pending = std::make_shared<Pending>();
  pending->target = std::move(target);
  const absl::StatusOr<Caller> caller =
      AuthorizeHttp(identity_, service_, "/inference.GRPCInferenceService/ModelInfer", *request);
  pending->call = HttpCall(Method::kHttpInfer, caller, *request);
  const absl::Status why_not = ReadHead(caller, *request, *pending);
  if (!why_not.ok()) {
    return AnswerAtOnce([&](std::shared_ptr<HttpReply> reply) { Submit(why_not, *pending, std::move(reply)); });
  }
  return HttpHandling::Read([this, pending](absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
    Submit(ReadBody(*pending, std::move(body)), *pending, std::move(reply));
  });
}

void OipHttpFront::Submit(absl::StatusOr<HttpInferRequest> read, Pending& pending, std::shared_ptr<HttpReply> reply) {
  absl::StatusOr<ReceivedInfer> message =
      read.ok() ? absl::StatusOr<ReceivedInfer>(std::move(read->infer)) : absl::StatusOr<ReceivedInfer>(read.status());
  // Keeps the output options, which are still needed after the message is moved.
  auto form = std::make_shared<HttpInferRequest>(read.ok() ? *std::move(read) : HttpInferRequest());
  auto held = std::make_shared<AnswerResources>(service_.ledger());
  pending.call.held = held;
  pending.call.deadline = service_.clock().Now() + kHttpTimeout;
  pending.call.form.scale = form->binary_by_default && form->binary.empty() ? 1 : kJsonScale;
  vitrine::Infer(service_, std::move(message), std::move(pending.call),
                 [held = std::move(held), form = std::move(form),
                  reply = std::move(reply)](const absl::StatusOr<inference::ModelInferResponse>& answer) mutable {
                   SendHeld(*reply, std::move(held), [&] {
                     return answer.ok() ? InferenceResponse(*answer, *form) : OrRefusal(answer.status());
                   });
                 });
}

}  // namespace vitrine
